/* The store of golden states: what is kept is found, and nothing that differs in anything is used. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "home_fixture.h"
#include "image/cache.h"
#include "image/golden.h"

#define NAME  "berth-01234567-1"
#define STATE "the memory of a guest"
#define DISK  "what a guest wrote"

static struct error err; /* of the last call that failed */
static char *cache;      /* path */

static char *in_store(const char *file)
{
    return file_join(home, file);
}

static void put(const char *path, mode_t mode, const char *text)
{
    if (file_write_atomic(path, mode, text, strlen(text), &err) < 0)
        fail_msg("%s", err.text);
}

static void put_in_store(const char *file)
{
    CLEANUP_FREE char *path = in_store(file);
    put(path, 0600, "x");
}

static bool is_there(const char *file)
{
    CLEANUP_FREE char *path = in_store(file);
    return access(path, F_OK) == 0;
}

static int setup(void **state)
{
    if (make_home(state) < 0)
        return -1;
    cache = in_store("verified.json");
    err = (struct error)ERROR_INIT;
    return 0;
}

static int teardown(void **state)
{
    free(cache);
    return remove_home(state);
}

static struct golden_key a_key(void)
{
    return (struct golden_key){
        .image_digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .libvirt_version = 9000000,
        .qemu_version = 7002022,
        .machine = "pc-q35-7.2",
        .kvm = true,
        .cpu = "GenuineIntel 6 143 8 0123456789abcdef",
        .vcpu = 2,
        .mem_mib = 4096,
        .disk_gib = 40,
        .uuid = "11111111-2222-5333-8444-555555555555",
    };
}

/* As guest_save() and an overlay leave them. */
static void put_saved(const char *overlay)
{
    CLEANUP_FREE char *state = golden_state(home, NAME);
    put(state, 0600, STATE);
    put(overlay, 0660, DISK);
}

static void keep(void)
{
    struct golden_key key = a_key();
    CLEANUP_FREE char *overlay = in_store("overlay");
    put_saved(overlay);
    if (golden_keep(home, NAME, &key, overlay, cache, &err) < 0)
        fail_msg("%s", err.text);
}

static int check(void)
{
    struct golden_key key = a_key();
    err = (struct error)ERROR_INIT;
    return golden_check(home, NAME, &key, cache, &err);
}

static void refused(const char *why)
{
    if (check() == 0)
        fail_msg("used, in spite of: %s", why);
    assert_int_equal(err.code, ERROR_IMAGE);
    if (!strstr(err.text, why))
        fail_msg("the reason is not \"%s\": %s", why, err.text);
}

static void accepted(void)
{
    if (check() < 0)
        fail_msg("%s", err.text);
}

/* --- keep and check -------------------------------------------------------------------------------- */

static void assert_file(const char *path, mode_t mode, const char *text)
{
    struct stat info;
    CLEANUP_FREE char *found = NULL;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, mode);
    assert_int_equal(info.st_uid, geteuid());
    assert_int_equal(file_read(path, 100, &found, NULL, &err), 0);
    assert_string_equal(found, text);
}

static void kept_and_found(void **state)
{
    (void)state;
    CLEANUP_FREE char *overlay = in_store("overlay");
    CLEANUP_FREE char *disk = golden_disk(home, NAME);
    CLEANUP_FREE char *saved = golden_state(home, NAME);
    CLEANUP_FREE char *document = in_store(NAME ".json");
    struct golden_key key = a_key();
    struct stat info;
    put_saved(overlay);
    if (geteuid() == 0) /* the overlay of a QEMU with a uid of its own; its group stays */
        assert_int_equal(chown(overlay, 70001, 4242) | chown(saved, 70001, 4242) | chmod(overlay, 0600), 0);
    if (golden_keep(home, NAME, &key, overlay, cache, &err) < 0)
        fail_msg("%s", err.text);
    assert_file(disk, 0440, DISK);
    assert_file(saved, 0600, STATE);
    assert_int_equal(stat(document, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(stat(disk, &info), 0);
    assert_int_equal(info.st_gid, geteuid() == 0 ? 4242 : getegid());
    assert_int_equal(access(overlay, F_OK), -1);
    accepted();
    accepted();
}

static void none(void **state)
{
    (void)state;
    struct golden_key key = a_key();
    assert_int_equal(check(), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    /* without the document the rest is nothing: a crash before it was written leaves this */
    put_in_store(NAME ".state");
    put_in_store(NAME ".qcow2");
    assert_int_equal(check(), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    CLEANUP_FREE char *nowhere = in_store("nowhere");
    assert_int_equal(golden_check(nowhere, NAME, &key, cache, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void kept_again(void **state)
{
    (void)state;
    keep();
    CLEANUP_FREE char *saved = golden_state(home, NAME);
    unlink(saved);
    keep();
    accepted();
}

static void a_failed_keep_leaves_nothing(void **state)
{
    (void)state;
    struct golden_key key = a_key();
    CLEANUP_FREE char *overlay = in_store("overlay");
    keep();
    CLEANUP_FREE char *saved = golden_state(home, NAME);
    unlink(saved);
    put(overlay, 0660, DISK);
    assert_int_equal(golden_keep(home, NAME, &key, overlay, cache, &err), -1);
    assert_int_equal(err.code, ERROR_IMAGE);
    assert_false(is_there("overlay"));
    assert_false(is_there(NAME ".qcow2"));
    assert_false(is_there(NAME ".json"));
}

/* A node that is not root's: the state is the daemon's, which it can neither read nor change the mode of. */
static void kept_by_a_plain_user(void **state)
{
    (void)state;
    enum { SOMEBODY = 65534 };
    if (geteuid() != 0)
        return; /* then all the tests here are by a plain user, with a state of its own */
    struct golden_key key = a_key();
    CLEANUP_FREE char *overlay = in_store("overlay");
    CLEANUP_FREE char *saved = golden_state(home, NAME);
    CLEANUP_FREE char *elsewhere = in_store("elsewhere");
    put_saved(overlay);
    assert_int_equal(chown(home, SOMEBODY, (gid_t)-1) | chown(overlay, SOMEBODY, (gid_t)-1), 0);
    assert_int_equal(seteuid(SOMEBODY), 0);
    int kept = golden_keep(home, NAME, &key, overlay, cache, &err);
    int found = kept < 0 ? -1 : check();
    int opened = open(saved, O_RDONLY | O_CLOEXEC);
    /* what it may do, and must be seen: another file in the place of the state */
    bool exchanged = found == 0 && rename(saved, elsewhere) == 0;
    if (exchanged)
        put(saved, 0600, STATE);
    int found_again = check();
    struct error reason = err;
    int dropped = golden_drop(home, NAME, &err);
    assert_int_equal(seteuid(0), 0);
    if (kept < 0 || found < 0)
        fail_msg("%s", reason.text);
    assert_int_equal(opened, -1);
    assert_true(exchanged);
    assert_int_equal(found_again, -1);
    assert_non_null(strstr(reason.text, "is not the file that was kept"));
    assert_int_equal(dropped, 0);
    assert_false(is_there(NAME ".state"));
}

/* --- what differs ---------------------------------------------------------------------------------- */

static void another_key(void **state)
{
    (void)state;
    keep();
    for (int i = 0; i < 10; i++) {
        static const char *const names[] = {
            "image_digest", "libvirt_version", "qemu_version", "machine", "kvm", "cpu",
            "vcpu",         "mem_mib",         "disk_gib",     "uuid"};
        struct golden_key key = a_key();
        key.image_digest[0] = i == 0 ? 'f' : '0';
        key.libvirt_version += i == 1;
        key.qemu_version += i == 2;
        key.machine[9] = i == 3 ? '3' : '2';
        key.kvm = i != 4;
        key.cpu[0] = i == 5 ? 'X' : 'G';
        key.vcpu += i == 6;
        key.mem_mib -= i == 7;
        key.disk_gib += i == 8;
        key.uuid[0] = i == 9 ? '9' : '1';
        err = (struct error)ERROR_INIT;
        assert_int_equal(golden_check(home, NAME, &key, cache, &err), -1);
        assert_int_equal(err.code, ERROR_IMAGE);
        CLEANUP_FREE char *what = text_format("another %s:", names[i]);
        if (!strstr(err.text, what))
            fail_msg("%s is not named: %s", names[i], err.text);
    }
    accepted();
}

static void a_torn_document(void **state)
{
    (void)state;
    keep();
    CLEANUP_FREE char *path = in_store(NAME ".json");
    CLEANUP_FREE char *text = NULL;
    size_t size;
    assert_int_equal(file_read(path, 1 << 16, &text, &size, &err), 0);
    for (size_t length = 0; length < size - 1; length += 7) {
        CLEANUP_FREE char *torn = text_format("%.*s", (int)length, text);
        put(path, 0600, torn);
        refused("cannot be understood");
    }
    put(path, 0600, text);
    accepted();
}

/* The document with one text replaced by another. */
static void rewrite(const char *from, const char *to)
{
    CLEANUP_FREE char *path = in_store(NAME ".json");
    CLEANUP_FREE char *text = NULL;
    assert_int_equal(file_read(path, 1 << 16, &text, NULL, &err), 0);
    char *at = strstr(text, from);
    assert_non_null(at);
    CLEANUP_FREE char *changed = text_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    put(path, 0600, changed);
}

static void a_document_of_another_kind(void **state)
{
    (void)state;
    CLEANUP_FREE char *path = in_store(NAME ".json");
    keep();
    rewrite("berthos.golden/1", "berthos.golden/2");
    refused("schema");
    keep();
    rewrite("\"key\"", "\"keys\"");
    refused("cannot be understood");
    keep();
    rewrite("\"sha256\"", "\"sha1\"");
    refused("golden disk");
    put(path, 0600, "[]");
    refused("cannot be understood");
    keep();
    assert_int_equal(chmod(path, 0640), 0);
    refused("not a private file");
    keep();
    CLEANUP_FREE char *elsewhere = in_store("elsewhere");
    assert_int_equal(rename(path, elsewhere) | symlink(elsewhere, path), 0);
    refused("cannot open");
}

/* Changes one byte and puts the times back that can be put back. */
static void change_byte(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(chmod(path, info.st_mode | 0200), 0);
    CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "X", 1, 3), 1);
    const struct timespec times[] = {info.st_atim, info.st_mtim};
    assert_int_equal(futimens(fd, times) | fchmod(fd, info.st_mode & 07777), 0);
}

static void a_changed_disk(void **state)
{
    (void)state;
    CLEANUP_FREE char *disk = golden_disk(home, NAME);
    keep();
    clock_sleep_ms(150); /* so that the digest is remembered */
    accepted();
    change_byte(disk);
    refused("has the sha256");
    keep();
    assert_int_equal(chmod(disk, 0640), 0);
    refused("has the mode 0640");
    assert_int_equal(chmod(disk, 0444), 0);
    refused("has the mode 0444");
    assert_int_equal(chmod(disk, 0460), 0);
    refused("may be written by others");
    keep();
    put(disk, 0440, DISK " and more");
    refused("another size");
    unlink(disk);
    refused("cannot open the golden disk");
    keep();
    if (geteuid() == 0) {
        assert_int_equal(chown(disk, 70001, 0), 0);
        refused("belongs to uid 70001");
    }
}

static void a_changed_state(void **state)
{
    (void)state;
    CLEANUP_FREE char *saved = golden_state(home, NAME);
    keep();
    change_byte(saved);
    refused("ctime_ns");
    keep();
    put(saved, 0600, STATE); /* the same bytes in another file */
    refused("is not the file that was kept");
    keep();
    put(saved, 0600, STATE " and more");
    refused("its size is");
    keep();
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, saved, times, 0), 0);
    refused("its mtime_ns is");
    keep();
    assert_int_equal(chmod(saved, 0640), 0);
    refused("mode 0640");
    keep();
    CLEANUP_FREE char *elsewhere = in_store("elsewhere");
    assert_int_equal(rename(saved, elsewhere) | symlink(elsewhere, saved), 0);
    refused("not a file of mode 0600");
    unlink(saved);
    refused("cannot look at");
}

static void a_folder_that_others_may_write(void **state)
{
    (void)state;
    keep();
    assert_int_equal(chmod(home, 0777), 0);
    refused("may be written by others");
    assert_int_equal(chmod(home, 01777), 0);
    refused("may be written by others");
    assert_int_equal(chmod(home, 0711), 0);
    accepted();
}

/* The disk is hashed once: a digest that only the list of verified files can know is believed. */
static void the_digest_is_remembered(void **state)
{
    (void)state;
    static const char invented[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    CLEANUP_FREE char *disk = golden_disk(home, NAME);
    char digest[DIGEST_HEX_SIZE];
    struct stat info;
    keep();
    clock_sleep_ms(150);
    digest_buffer(DISK, strlen(DISK), digest);
    rewrite(digest, invented);
    refused("has the sha256");
    assert_int_equal(stat(disk, &info), 0);
    struct image_identity identity = image_identity_of(&info);
    cache_add(cache, &identity, invented);
    accepted();
    unlink(cache);
    refused("has the sha256");
    rewrite(invented, digest);
    accepted();
    assert_true(cache_has(cache, &identity, digest));
}

/* --- drop and sweep -------------------------------------------------------------------------------- */

static void dropped(void **state)
{
    (void)state;
    keep();
    put_in_store(NAME ".state.0123456789abcdef.part");
    put_in_store(NAME ".json.0123456789abcdef.tmp");
    put_in_store(NAME ".notes");
    put_in_store(NAME "0.state");
    assert_int_equal(golden_drop(home, NAME, &err), 0);
    assert_false(is_there(NAME ".json"));
    assert_false(is_there(NAME ".state"));
    assert_false(is_there(NAME ".qcow2"));
    assert_false(is_there(NAME ".state.0123456789abcdef.part"));
    assert_false(is_there(NAME ".json.0123456789abcdef.tmp"));
    assert_true(is_there(NAME ".notes"));
    assert_true(is_there(NAME "0.state"));
    assert_int_equal(golden_drop(home, NAME, &err), 0);
    CLEANUP_FREE char *nowhere = in_store("nowhere");
    assert_int_equal(golden_drop(nowhere, NAME, &err), 0);
}

static void swept(void **state)
{
    (void)state;
    static const char *const gone[] = {
        "berth-01234567-2.qcow2",  "berth-01234567-2.state",           "berth-01234567-2.json",
        "berth-01234567-10.state", "berth-01234567-3.state.0123.part", "berth-01234567-3.json.0123.tmp"};
    static const char *const left[] = {
        NAME ".state.0123.part", /* being made */
        "berth-76543210-2.state",     "berth-01234567-2", "berth-01234567-2.txt",
        "berth-01234567-2.state.old", "other.qcow2",      ".state",
    };
    static const char *const kept[] = {NAME};
    keep();
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        put_in_store(gone[i]);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        put_in_store(left[i]);
    CLEANUP_FREE char *folder = in_store("berth-01234567-4.state");
    assert_int_equal(mkdir(folder, 0700), 0);
    if (golden_sweep(home, "berth-01234567-", kept, 1, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (is_there(gone[i]))
            fail_msg("%s is left", gone[i]);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (!is_there(left[i]))
            fail_msg("%s is gone", left[i]);
    assert_true(is_there("berth-01234567-4.state"));
    accepted();

    assert_int_equal(golden_sweep(home, "berth-01234567-", NULL, 0, &err), 0);
    assert_int_equal(check(), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    CLEANUP_FREE char *nowhere = in_store("nowhere");
    assert_int_equal(golden_sweep(nowhere, "berth-", NULL, 0, &err), 0);
}

static void room_and_processor(void **state)
{
    (void)state;
    char cpu[GOLDEN_CPU_SIZE], again[GOLDEN_CPU_SIZE];
    assert_true(golden_room_bytes(4096) > UINT64_C(4) << 30);
    assert_true(golden_room_bytes(4096) - golden_room_bytes(2048) == UINT64_C(2) << 30);
    golden_host_cpu(cpu);
    golden_host_cpu(again);
    assert_string_equal(cpu, again);
#ifdef __x86_64__
    /* vendor, family, model, stepping, digest of the flags */
    char vendor[33], digest[17];
    int family, model, stepping;
    assert_int_equal(sscanf(cpu, "%32s %d %d %d %16s", vendor, &family, &model, &stepping, digest), 5);
    assert_true(text_is_hex(digest, 16));
#endif
}

int main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_STORE(kept_and_found),
        WITH_STORE(none),
        WITH_STORE(kept_again),
        WITH_STORE(a_failed_keep_leaves_nothing),
        WITH_STORE(kept_by_a_plain_user),
        WITH_STORE(another_key),
        WITH_STORE(a_torn_document),
        WITH_STORE(a_document_of_another_kind),
        WITH_STORE(a_changed_disk),
        WITH_STORE(a_changed_state),
        WITH_STORE(a_folder_that_others_may_write),
        WITH_STORE(the_digest_is_remembered),
        WITH_STORE(dropped),
        WITH_STORE(swept),
        cmocka_unit_test(room_and_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
