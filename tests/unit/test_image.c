/* Images: names, manifests, digests, owners, and the cache of what was verified once. */
#include "unit.h"

#include <fcntl.h>

#include "config/image_name.h"
#include "image/readable.h"
#include "image_fixture.h"

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    fixture_make(fixture);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    fixture_remove(*state);
    free(*state);
    return 0;
}

/* The image must be refused with this fault and a sentence that holds this text. */
static void assert_refused(const struct image_options *options, enum image_fault wanted, const char *text)
{
    struct error err = ERROR_INIT;
    enum image_fault fault;
    CLEANUP_IMAGE struct image *image = image_open(options, &fault, &err);
    assert_null(image);
    assert_int_equal(err.code, ERROR_IMAGE);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" does not hold \"%s\"", err.text, text);
    assert_int_equal(fault, wanted);
}

static struct image *open_good(const struct image_options *options)
{
    struct error err = ERROR_INIT;
    enum image_fault fault;
    struct image *image = image_open(options, &fault, &err);
    if (!image)
        fail_msg("%s", err.text);
    assert_int_equal(fault, IMAGE_FAULT_NONE);
    return image;
}

static void test_good_image(void **state)
{
    struct image_options options = fixture_options(*state);
    CLEANUP_IMAGE struct image *image = open_good(&options);
    assert_string_equal(image->name, FIXTURE_NAME);
    assert_string_equal(image->cmdline, "root=/dev/vda");
    assert_int_equal(image->virtual_size_bytes, 64 << 20);
    assert_int_equal(image->display_width, 1280);
    assert_false(image->test_only);
    assert_false(image->input_helper); /* a manifest without the word: an image without the helper */
    assert_true(digest_valid(image->manifest_sha256));
    assert_string_equal(json_string_value(json_object_get(image->labels, LABEL_DISPLAY_KEY)),
                        "xorg-virtio-gpu");
    struct error err = ERROR_INIT;
    assert_int_equal(image_recheck(image, &err), 0);
}

static void test_input_helper(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    json_object_set_new(fixture->manifest, "input_helper", json_true());
    fixture_write_manifest(fixture);
    CLEANUP_IMAGE struct image *image = open_good(&options);
    assert_true(image->input_helper);
    json_object_set_new(fixture->manifest, "input_helper", json_string("yes"));
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "input_helper");
}

static void test_missing(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    CLEANUP_FREE char *kernel = fixture_path(fixture, FIXTURE_STEM ".kernel");
    assert_int_equal(unlink(kernel), 0);
    assert_refused(&options, IMAGE_FAULT_MISSING, FIXTURE_STEM ".kernel is not there");
    options.name = "other-guest:v1";
    assert_refused(&options, IMAGE_FAULT_MISSING, "other-guest-v1.json is not there");
    options.name = "../etc/passwd:v1";
    assert_refused(&options, IMAGE_FAULT_MISSING, "not an image name");
    options.image_dir = "/nonexistent/images";
    assert_refused(&options, IMAGE_FAULT_MISSING, "/nonexistent/images");
}

static void test_wrong_label(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    json_t *labels = json_object_get(fixture->manifest, "labels");
    json_object_set_new(labels, LABEL_DESKTOP_KEY, json_string("Xvfb-openbox-chromium"));
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_STALE, "\"Xvfb-openbox-chromium\"");
    json_object_del(labels, LABEL_DESKTOP_KEY);
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_STALE, "is missing");
}

static void test_pinned_digest(void **state)
{
    struct image_options options = fixture_options(*state);
    CLEANUP_IMAGE struct image *image = open_good(&options);
    options.pinned_digest = image->manifest_sha256;
    image_free(open_good(&options));
    options.pinned_digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_refused(&options, IMAGE_FAULT_STALE, "image_digest");
}

static void flip_byte(const char *path, off_t at)
{
    unsigned char byte;
    assert_int_equal(chmod(path, 0644), 0);
    CLEANUP_CLOSE int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void test_flipped_byte(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    static const char *const names[] = {FIXTURE_STEM ".qcow2", FIXTURE_STEM ".kernel",
                                        FIXTURE_STEM ".initrd"};
    for (size_t i = 0; i < 3; i++) {
        CLEANUP_FREE char *path = fixture_path(fixture, names[i]);
        flip_byte(path, 5);
        assert_refused(&options, IMAGE_FAULT_TAMPERED, names[i]);
        flip_byte(path, 5);
    }
    image_free(open_good(&options));
}

static void test_truncated(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    CLEANUP_FREE char *disk = fixture_path(fixture, FIXTURE_STEM ".qcow2");
    assert_int_equal(truncate(disk, 1000), 0);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "1000 bytes");
    fixture_describe(fixture, "disk", FIXTURE_STEM ".qcow2"); /* and a manifest that agrees with the cut */
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "outside the file");
}

/* A manifest that is true to a disk which reaches outside itself. */
static void assert_disk_refused(struct fixture *fixture, const char *text)
{
    struct image_options options = fixture_options(fixture);
    CLEANUP_FREE char *disk = fixture_path(fixture, FIXTURE_STEM ".qcow2");
    assert_int_equal(chmod(disk, 0444), 0);
    fixture_describe(fixture, "disk", FIXTURE_STEM ".qcow2");
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, text);
}

static void test_disks_that_reach_outside(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP_FREE char *disk = fixture_path(fixture, FIXTURE_STEM ".qcow2");
    CLEANUP_FREE char *secret = fixture_path(fixture, "secret");
    CLEANUP_FREE char *data = text_format("data_file=%s/data.raw", fixture->folder);
    fixture_write(secret, "no guest may read this", 22);
    const char *const backing[] = {"qemu-img", "create", "-q",   "-f", "qcow2", "-F",
                                   "raw",      "-b",     secret, disk, "64M",   NULL};
    const char *const external[] = {"qemu-img", "create", "-q", "-f", "qcow2", "-o", data, disk, "64M", NULL};
    const char *const larger[] = {"qemu-img", "create", "-q", "-f", "qcow2", disk, "65M", NULL};
    const char *const raw[] = {"qemu-img", "create", "-q", "-f", "raw", disk, "64M", NULL};
    const char *const snapshot[] = {"qemu-img", "snapshot", "-c", "inside", disk, NULL};

    unlink(disk);
    fixture_qemu_img(backing);
    assert_disk_refused(fixture, "backing file");
    unlink(disk);
    fixture_qemu_img(external);
    assert_disk_refused(fixture, "external");
    unlink(disk);
    fixture_qemu_img(larger);
    assert_disk_refused(fixture, "virtual size");
    unlink(disk);
    fixture_qemu_img(raw);
    assert_disk_refused(fixture, "not a qcow2");
    unlink(disk);
    fixture_make_disk(fixture);
    chmod(disk, 0644);
    fixture_qemu_img(snapshot);
    assert_disk_refused(fixture, "internal snapshots");
}

static void test_others_may_write(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    CLEANUP_FREE char *initrd = fixture_path(fixture, FIXTURE_STEM ".initrd");
    assert_int_equal(chmod(initrd, 0464), 0);
    assert_refused(&options, IMAGE_FAULT_UNREADABLE, "chmod go-w");
    assert_int_equal(chmod(initrd, 0444), 0);
    assert_int_equal(chmod(fixture->folder, 0777), 0);
    assert_refused(&options, IMAGE_FAULT_UNREADABLE, "may be written by others");
    assert_int_equal(chmod(fixture->folder, 0755), 0);
    image_free(open_good(&options));
    if (geteuid() == 0) {
        assert_int_equal(chown(initrd, 12345, 12345), 0);
        assert_refused(&options, IMAGE_FAULT_UNREADABLE, "uid 12345");
    }
}

static void test_links_are_not_followed(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    CLEANUP_FREE char *kernel = fixture_path(fixture, FIXTURE_STEM ".kernel");
    CLEANUP_FREE char *moved = fixture_path(fixture, "moved");
    assert_int_equal(rename(kernel, moved), 0);
    assert_int_equal(symlink(moved, kernel), 0);
    assert_refused(&options, IMAGE_FAULT_UNREADABLE, "symbolic link");
    assert_int_equal(unlink(kernel), 0);
    assert_int_equal(mkfifo(kernel, 0644), 0);
    assert_refused(&options, IMAGE_FAULT_UNREADABLE, "not a regular file");
}

/* Swapped between check and use: the descriptor that was hashed is the one that was checked, and the path is
 * compared with it at the end. */
struct swap {
    char *disk, *other;
    int at_call, calls;
};

static void swap_disk(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    struct swap *swap = context;
    (void)done_bytes;
    (void)total_bytes;
    if (++swap->calls == swap->at_call) {
        unlink(swap->disk);
        if (symlink(swap->other, swap->disk) != 0)
            abort();
    }
}

static void assert_swap_is_seen(struct fixture *fixture, int at_call, const char *text)
{
    struct image_options options = fixture_options(fixture);
    struct swap swap = {.disk = fixture_path(fixture, FIXTURE_STEM ".qcow2"),
                        .other = fixture_path(fixture, "evil"),
                        .at_call = at_call};
    fixture_write(swap.other, "evil", 4);
    options.progress = swap_disk;
    options.progress_context = &swap;
    assert_refused(&options, IMAGE_FAULT_TAMPERED, text);
    assert_true(swap.calls >= at_call);
    free(swap.disk);
    free(swap.other);
}

static void test_swap_while_hashing(void **state)
{
    assert_swap_is_seen(*state, 1, "changed while it was read");
}

/* The disk is verified already and the initrd is being hashed. */
static void test_swap_after_hashing(void **state)
{
    assert_swap_is_seen(*state, 3, "replaced or changed");
}

static void count_bytes(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    uint64_t *seen = context;
    seen[0] = done_bytes;
    seen[1] = total_bytes;
    seen[2]++;
}

static void test_verified_once(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    uint64_t seen[3] = {0};
    options.cache_path = fixture->cache;
    options.progress = count_bytes;
    options.progress_context = seen;
    clock_sleep_ms(150); /* files younger than a clock tick are not remembered */
    image_free(open_good(&options));
    assert_true(seen[2] >= 3);
    assert_int_equal(seen[0], seen[1]);
    seen[2] = 0;
    image_free(open_good(&options));
    assert_int_equal(seen[2], 0);

    /* the same bytes written again are another identity */
    CLEANUP_FREE char *kernel = fixture_path(fixture, FIXTURE_STEM ".kernel");
    fixture_write(kernel, "a kernel", 8);
    image_free(open_good(&options));
    assert_int_equal(seen[2], 1);

    /* other bytes of the same size are caught although the cache knows the old ones */
    fixture_write(kernel, "a kernfl", 8);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "sha256");
}

/* A cache that somebody else wrote for us may not vouch for anything. */
static void test_cache_of_others_is_ignored(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    uint64_t seen[3] = {0};
    options.cache_path = fixture->cache;
    options.progress = count_bytes;
    options.progress_context = seen;
    clock_sleep_ms(150);
    image_free(open_good(&options));
    struct stat info;
    assert_int_equal(stat(fixture->cache, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(chmod(fixture->cache, 0620), 0);
    seen[2] = 0;
    image_free(open_good(&options));
    assert_true(seen[2] >= 3);
    if (geteuid() == 0) {
        assert_int_equal(chown(fixture->cache, 12345, 12345), 0);
        assert_int_equal(chmod(fixture->cache, 0600), 0);
        seen[2] = 0;
        image_free(open_good(&options));
        assert_true(seen[2] >= 3);
    }
}

static void test_recheck_sees_changes(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    CLEANUP_IMAGE struct image *image = open_good(&options);
    CLEANUP_FREE char *initrd = fixture_path(fixture, FIXTURE_STEM ".initrd");
    struct error err = ERROR_INIT;
    fixture_write(initrd, "an initrd", 9); /* the same bytes in another inode */
    assert_int_equal(image_recheck(image, &err), -1);
    assert_int_equal(err.code, ERROR_IMAGE);
    assert_non_null(strstr(err.text, initrd));
}

static void test_bad_manifests(void **state)
{
    struct fixture *fixture = *state;
    struct image_options options = fixture_options(fixture);
    CLEANUP_FREE char *path = fixture_path(fixture, FIXTURE_STEM ".json");
    json_t *files = json_object_get(fixture->manifest, "files");
    json_t *kernel = json_object_get(files, "kernel");

    json_object_set_new(kernel, "file", json_string("../kernel"));
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "plain file name");
    json_object_set_new(kernel, "file", json_string(FIXTURE_STEM ".kernel"));
    json_object_set_new(kernel, "size", json_integer(-1));
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "size");
    json_object_set_new(kernel, "size", json_integer(8));
    json_object_set_new(fixture->manifest, "surprise", json_true());
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "surprise");
    json_object_del(fixture->manifest, "surprise");
    json_object_set_new(fixture->manifest, "name", json_string("other-guest:v1"));
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_STALE, "other-guest:v1");
    json_object_set_new(fixture->manifest, "name", json_string(FIXTURE_NAME));
    json_object_set_new(fixture->manifest, "cmdline", json_string("root=/dev/vda\ninit=/bin/sh"));
    fixture_write_manifest(fixture);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "cmdline");

    fixture_write(path, "{\"schema\":", 10);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "not valid JSON");
    fixture_write(path, "", 0);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "manifest");
    CLEANUP_FREE char *large = calloc(1, 200000);
    memset(large, ' ', 200000);
    fixture_write(path, large, 200000);
    assert_refused(&options, IMAGE_FAULT_TAMPERED, "too large");
}

static void test_stem(void **state)
{
    (void)state;
    char stem[IMAGE_STEM_SIZE];
    assert_true(image_name_stem("berthos-linux-desktop:v1", stem));
    assert_string_equal(stem, "berthos-linux-desktop-v1");
    assert_true(image_name_stem("a:1.2", stem));
    static const char *const bad[] = {"",       ":v1",   "a",     "a:",   "a:b:c", "A:v1",
                                      "a/b:v1", "a:v/1", "a: v1", ".a:1", "-a:1",  "a:v-1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(image_name_stem(bad[i], stem) || image_name_valid(bad[i]));
        /* the longest, and one character more in either half */
#define HALF "0123456789abcdef0123456789abcdef"
    assert_true(image_name_stem(HALF HALF ":" HALF, stem));
    assert_string_equal(stem, HALF HALF "-" HALF);
    assert_false(image_name_valid(HALF HALF "0:" HALF));
    assert_false(image_name_valid(HALF HALF ":" HALF "0"));
}

static void test_readable_for(void **state)
{
    struct fixture *fixture = *state;
    CLEANUP_FREE char *folder = fixture_path(fixture, "inner");
    CLEANUP_FREE char *file = fixture_path(fixture, "inner/disk");
    struct error err = ERROR_INIT;
    assert_int_equal(mkdir(folder, 0755), 0);
    fixture_write(file, "x", 1);
    gid_t own = getegid(), other[] = {4242};
    assert_int_equal(image_readable_for(file, 12345, other, 1, &err), 0);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(image_readable_for(file, 12345, other, 1, &err), -1);
    assert_int_equal(err.code, ERROR_IMAGE);
    assert_non_null(strstr(err.text, "12345"));
    assert_non_null(strstr(err.text, folder));
    assert_non_null(strstr(err.text, "chmod o+x"));
    assert_int_equal(chmod(folder, 0710), 0);
    assert_int_equal(image_readable_for(file, 12345, &own, 1, &err), 0);
    assert_int_equal(chmod(file, 0400), 0);
    assert_int_equal(image_readable_for(file, 12345, &own, 1, &err), -1);
    assert_non_null(strstr(err.text, "chmod o+r"));
    /* POSIX: the group's class counts for a member, also where others may do more */
    assert_int_equal(chmod(file, 0404), 0);
    assert_int_equal(image_readable_for(file, 12345, &own, 1, &err), -1);
    assert_int_equal(image_readable_for("/nonexistent", 12345, &own, 1, &err), -1);
}

int main(void)
{
#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(test_good_image),
        WITH_FIXTURE(test_input_helper),
        WITH_FIXTURE(test_missing),
        WITH_FIXTURE(test_wrong_label),
        WITH_FIXTURE(test_pinned_digest),
        WITH_FIXTURE(test_flipped_byte),
        WITH_FIXTURE(test_truncated),
        WITH_FIXTURE(test_disks_that_reach_outside),
        WITH_FIXTURE(test_others_may_write),
        WITH_FIXTURE(test_links_are_not_followed),
        WITH_FIXTURE(test_swap_while_hashing),
        WITH_FIXTURE(test_swap_after_hashing),
        WITH_FIXTURE(test_verified_once),
        WITH_FIXTURE(test_cache_of_others_is_ignored),
        WITH_FIXTURE(test_recheck_sees_changes),
        WITH_FIXTURE(test_bad_manifests),
        cmocka_unit_test(test_stem),
        WITH_FIXTURE(test_readable_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
