/* Overlays: made upon an image, for QEMU's user alone, and the room that they need. */
#include "unit.h"

#include <fcntl.h>
#include <sys/mount.h>

#include "image/overlay.h"
#include "image_fixture.h"

struct bench {
    struct fixture fixture;
    struct image *image;
    char *overlay;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct error err = ERROR_INIT;
    fixture_make(&bench->fixture);
    struct image_options options = fixture_options(&bench->fixture);
    bench->image = image_open(&options, NULL, &err);
    REQUIRE(bench->image);
    bench->overlay = fixture_path(&bench->fixture, "lease.qcow2");
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    image_free(bench->image);
    free(bench->overlay);
    fixture_remove(&bench->fixture);
    free(bench);
    return 0;
}

/* The facts of `qemu-img info`. *Owned*. */
static json_t *disk_facts(const char *path)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *text = NULL;
    const char *const argv[] = {"qemu-img", "info", "--output=json", path, NULL};
    if (process_run(argv, 20000, &text, &err) < 0)
        fail_msg("%s", err.text);
    return document_parse(text, strlen(text), &err);
}

static void test_overlay(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    gid_t gid = geteuid() == 0 ? 4242 : getegid();
    if (overlay_create(bench->overlay, bench->image, NULL, 1, (struct overlay_owner){(uid_t)-1, gid}, &err) <
        0)
        fail_msg("%s", err.text);
    struct stat info;
    assert_int_equal(stat(bench->overlay, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0660);
    assert_int_equal(info.st_gid, gid);

    CLEANUP_JSON json_t *facts = disk_facts(bench->overlay);
    assert_non_null(facts);
    assert_int_equal(json_integer_value(json_object_get(facts, "virtual-size")), INT64_C(1) << 30);
    assert_string_equal(json_string_value(json_object_get(facts, "backing-filename-format")), "qcow2");
    assert_string_equal(json_string_value(json_object_get(facts, "backing-filename")),
                        bench->image->parts[IMAGE_DISK].path);

    /* the base is as it was */
    assert_int_equal(image_recheck(bench->image, &err), 0);
    assert_int_equal(overlay_remove(bench->overlay, &err), 0);
    assert_int_equal(access(bench->overlay, F_OK), -1);
    assert_int_equal(overlay_remove(bench->overlay, &err), 0);
}

/* base <- golden <- lease: of the golden disk's size, and the golden disk is not written to. */
static void test_on_a_golden_disk(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *golden = fixture_path(&bench->fixture, "golden.qcow2");
    assert_int_equal(overlay_create(golden, bench->image, NULL, 1, OVERLAY_OWNER_NONE, &err), 0);
    assert_int_equal(chmod(golden, 0440), 0);
    struct stat before, after;
    assert_int_equal(stat(golden, &before), 0);
    if (overlay_create(bench->overlay, bench->image, golden, 1, OVERLAY_OWNER_NONE, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(stat(golden, &after), 0);
    assert_memory_equal(&before.st_ctim, &after.st_ctim, sizeof before.st_ctim);
    CLEANUP_JSON json_t *facts = disk_facts(bench->overlay);
    assert_string_equal(json_string_value(json_object_get(facts, "backing-filename")), golden);
    assert_string_equal(json_string_value(json_object_get(facts, "backing-filename-format")), "qcow2");
    assert_int_equal(json_integer_value(json_object_get(facts, "virtual-size")), INT64_C(1) << 30);
}

/* An overlay of a QEMU with a uid of its own opens for that uid alone, not for the group that all share. */
static void test_given_to_one_uid(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    bool root = geteuid() == 0;
    struct overlay_owner owner = {root ? 70001 : geteuid(), root ? 4242 : getegid()};
    if (overlay_create(bench->overlay, bench->image, NULL, 1, owner, &err) < 0)
        fail_msg("%s", err.text);
    struct stat info;
    assert_int_equal(stat(bench->overlay, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(info.st_uid, owner.uid);
    assert_int_equal(info.st_gid, owner.gid);
    if (root)
        return;
    unlink(bench->overlay);
    owner.uid = 70001;
    assert_int_equal(overlay_create(bench->overlay, bench->image, NULL, 1, owner, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_int_equal(access(bench->overlay, F_OK), -1);
}

static void test_never_smaller_than_the_base(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    bench->image->virtual_size_bytes = UINT64_C(3) << 30;
    assert_int_equal(overlay_create(bench->overlay, bench->image, NULL, 1, OVERLAY_OWNER_NONE, &err), 0);
    CLEANUP_JSON json_t *facts = disk_facts(bench->overlay);
    assert_int_equal(json_integer_value(json_object_get(facts, "virtual-size")), INT64_C(3) << 30);
}

static void test_existing_path_is_refused(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    fixture_write(bench->overlay, "precious", 8);
    assert_int_equal(overlay_create(bench->overlay, bench->image, NULL, 1, OVERLAY_OWNER_NONE, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    CLEANUP_FREE char *kept = NULL;
    assert_int_equal(file_read(bench->overlay, 100, &kept, NULL, &err), 0);
    assert_string_equal(kept, "precious");

    CLEANUP_FREE char *elsewhere = fixture_path(&bench->fixture, "elsewhere");
    unlink(bench->overlay);
    assert_int_equal(symlink(elsewhere, bench->overlay), 0);
    assert_int_equal(overlay_create(bench->overlay, bench->image, NULL, 1, OVERLAY_OWNER_NONE, &err), -1);
    assert_int_equal(access(elsewhere, F_OK), -1);
}

static void test_nothing_is_left_after_a_failure(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    unlink(bench->image->parts[IMAGE_DISK].path);
    assert_int_equal(overlay_create(bench->overlay, bench->image, NULL, 1, OVERLAY_OWNER_NONE, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_non_null(strstr(err.text, "qemu-img"));
    assert_int_equal(access(bench->overlay, F_OK), -1);
}

/* CASES: no room for the overlay. A file system of its own, so that the disk of the host stays as it is. */
static void test_no_room(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *small = fixture_path(&bench->fixture, "small");
    CLEANUP_FREE char *overlay = fixture_path(&bench->fixture, "small/lease.qcow2");
    assert_int_equal(mkdir(small, 0755), 0);
    if (mount("berthos-unit", small, "tmpfs", MS_NODEV | MS_NOSUID, "size=64m") < 0) {
        print_message("a tmpfs cannot be mounted here (not root): ");
        skip();
    }
    int result = overlay_create(overlay, bench->image, NULL, 40, OVERLAY_OWNER_NONE, &err);
    bool left = access(overlay, F_OK) == 0;
    umount(small);
    assert_int_equal(result, -1);
    assert_int_equal(err.code, ERROR_NO_CAPACITY);
    assert_non_null(strstr(err.text, "64 MiB are free"));
    assert_false(left);
}

static void test_room(void **state)
{
    (void)state;
    assert_int_equal(overlay_room_bytes(1), UINT64_C(1) << 30);
    assert_int_equal(overlay_room_bytes(40), (uint64_t)OVERLAY_ROOM_GIB << 30);
}

int main(void)
{
#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_BENCH(test_overlay),
        WITH_BENCH(test_on_a_golden_disk),
        WITH_BENCH(test_given_to_one_uid),
        WITH_BENCH(test_never_smaller_than_the_base),
        WITH_BENCH(test_existing_path_is_refused),
        WITH_BENCH(test_nothing_is_left_after_a_failure),
        WITH_BENCH(test_no_room),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
