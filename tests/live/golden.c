/*
 * Golden states with the test guest, from its boot to the second guest that starts from what was saved of it:
 * base <- golden <- overlay, each berth's QEMU as a uid of its own.
 *
 * $BERTHOS_TEST_IMAGES names the folder of the built test guest; the work folder is made under
 * $BERTHOS_TEST_WORK (/var/tmp). Needs root and the system daemon, as tests/run.sh has them.
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "config/config.h"
#include "guest/agent.h"
#include "guest/guest.h"
#include "guest/reinspect.h"
#include "guest/save.h"
#include "guest/start.h"
#include "image/golden.h"
#include "image/image.h"
#include "image/overlay.h"

enum { START_MS = 120000, CALL_MS = 30000, BERTH = 0, OTHER_BERTH = 1, RANDOM_BYTES = 32 };

struct bench {
    char *folder, *overlays, *golden, *cache; /* paths */
    struct hypervisor *hypervisor;
    struct hypervisor_facts facts;
    struct config config;
    struct image *image;
    char node_id[33];
    struct guest guest; /* its last run */
    char name[GUEST_NAME_SIZE], label[GUEST_LABEL_SIZE];
    struct golden_key key;
};

static struct error err; /* of the last call that failed */

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) < 0)                                                                                      \
            fail_msg("%s: %s", #call, err.text);                                                             \
    } while (0)

static char *make_folder(const char *parent, const char *name, mode_t mode)
{
    char *path = file_join(parent, name);
    MUST(file_make_folder(path, mode, &err));
    return path;
}

static void open_image(struct bench *bench)
{
    const char *images = getenv("BERTHOS_TEST_IMAGES");
    struct image_options options = {
        .image_dir = images, .name = "berthos-test-guest:v1", .cache_path = bench->cache};
    bench->image = image_open(&options, NULL, &err);
    if (!bench->image)
        fail_msg("BERTHOS_TEST_IMAGES has no test guest: %s", err.text);
}

static int setup(void **state)
{
    if (!getenv("BERTHOS_TEST_IMAGES"))
        fail_msg("BERTHOS_TEST_IMAGES is not set: it names the folder with the test guest");
    struct bench *bench = calloc(1, sizeof *bench);
    const char *work = getenv("BERTHOS_TEST_WORK");
    *state = bench;
    bench->folder = text_format("%s/berthos-golden.XXXXXX", work ? work : "/var/tmp");
    if (!mkdtemp(bench->folder) || chmod(bench->folder, 0711) < 0)
        fail_msg("cannot make %s: %s", bench->folder, strerror(errno));
    bench->overlays = make_folder(bench->folder, "overlays", 0711);
    bench->golden = make_folder(bench->folder, "golden", 0711);
    bench->cache = file_join(bench->folder, "verified.json");
    bench->config = (struct config){.accel = ACCEL_TCG, .vcpu = 1, .mem_gib = 1, .disk_gib = 1};
    bench->config.libvirt_uri = text_copy("qemu:///system");
    random_hex(bench->node_id, 16);
    guest_name(bench->node_id, BERTH, bench->name);
    guest_uuid(bench->node_id, BERTH, bench->guest.uuid);
    open_image(bench);
    bench->hypervisor = bench->guest.hypervisor = hypervisor_new(bench->config.libvirt_uri, &err);
    if (!bench->hypervisor)
        fail_msg("%s", err.text);
    hypervisor_hold(bench->hypervisor);
    MUST(hypervisor_facts(bench->hypervisor, false, NULL, CALL_MS, &bench->facts, &err));
    return 0;
}

/* Of whatever runs under the bench's UUID. */
static void read_state(struct bench *bench, enum guest_state *state)
{
    struct guest any = guest_any_run(bench->hypervisor, bench->guest.uuid);
    MUST(guest_state(&any, CALL_MS, state, &err));
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    struct guest any = guest_any_run(bench->hypervisor, bench->guest.uuid);
    guest_destroy(&any, CALL_MS, &err);
    hypervisor_release(bench->hypervisor);
    hypervisor_facts_clear(&bench->facts);
    hypervisor_close(bench->hypervisor);
    image_free(bench->image);
    const char *const argv[] = {"rm", "-rf", bench->folder, NULL};
    int removed = process_run(argv, CALL_MS, NULL, &err);
    free(bench->config.libvirt_uri);
    free(bench->folder);
    free(bench->overlays);
    free(bench->golden);
    free(bench->cache);
    free(bench);
    return removed;
}

/* --- a guest --------------------------------------------------------------------------------------- */

/* What a lease's guest is made of, with the strings it borrows. */
struct trial {
    struct guest_spec spec;
    char *overlay, *console, *disk;
};

static void free_guest(struct trial *guest)
{
    free(guest->overlay);
    free(guest->console);
    free(guest->disk);
}

static void prepare(struct bench *bench, const char *lease_id, bool from_golden, struct trial *guest)
{
    guest_spec_fill(&guest->spec, &bench->config, bench->image, &bench->facts);
    guest->overlay = text_format("%s/%s%s.qcow2", bench->overlays, bench->name, lease_id);
    guest->console = text_format("%s/%s%s.console", bench->overlays, bench->name, lease_id);
    guest->disk = from_golden ? golden_disk(bench->golden, bench->name) : NULL;
    struct guest_spec *spec = &guest->spec;
    spec->name = bench->name;
    spec->uuid = bench->guest.uuid;
    spec->node_id = bench->node_id;
    spec->lease_id = lease_id;
    spec->overlay = guest->overlay;
    spec->console_log = guest->console;
    spec->golden = guest->disk;
    spec->own_uid = guest_label(bench->facts.qemu_label, bench->node_id, BERTH, NULL, bench->label);
    spec->qemu_label = bench->label;
    assert_true(spec->own_uid);
    MUST(overlay_create(guest->overlay, bench->image, spec->golden, bench->config.disk_gib,
                        guest_spec_owner(spec), &err));
}

/* --- what is in the guest -------------------------------------------------------------------------- */

/* The value "return" of an agent command. *Owned*. */
static json_t *ask(struct bench *bench, const char *command)
{
    CLEANUP_FREE char *text = guest_agent_command(&bench->guest, command, CALL_MS, &err);
    if (!text)
        fail_msg("%s: %s", command, err.text);
    CLEANUP_JSON json_t *answer = document_parse(text, strlen(text), &err);
    return json_incref(json_object_get(answer, "return"));
}

static int64_t open_in_guest(struct bench *bench, const char *path, const char *mode)
{
    CLEANUP_FREE char *command = text_format(
        "{\"execute\":\"guest-file-open\",\"arguments\":{\"path\":\"%s\",\"mode\":\"%s\"}}", path, mode);
    CLEANUP_JSON json_t *handle = ask(bench, command);
    return json_integer_value(handle);
}

/* The first bytes of a file in the guest, in base64. *Owned*. */
static char *read_in_guest(struct bench *bench, const char *path)
{
    CLEANUP_FREE char *command =
        text_format("{\"execute\":\"guest-file-read\",\"arguments\":{\"handle\":%" PRId64 ",\"count\":%d}}",
                    open_in_guest(bench, path, "r"), RANDOM_BYTES);
    CLEANUP_JSON json_t *read = ask(bench, command);
    return text_copy(json_string_value(json_object_get(read, "buf-b64")));
}

/* Writes a marker straight to the guest's disk, where no file system of its own could keep it in memory. */
static void write_disk(struct bench *bench, const char *base64)
{
    int64_t handle = open_in_guest(bench, "/dev/vda", "r+");
    CLEANUP_FREE char *write = text_format(
        "{\"execute\":\"guest-file-write\",\"arguments\":{\"handle\":%" PRId64 ",\"buf-b64\":\"%s\"}}",
        handle, base64);
    CLEANUP_FREE char *flush =
        text_format("{\"execute\":\"guest-file-flush\",\"arguments\":{\"handle\":%" PRId64 "}}", handle);
    CLEANUP_FREE char *close =
        text_format("{\"execute\":\"guest-file-close\",\"arguments\":{\"handle\":%" PRId64 "}}", handle);
    json_decref(ask(bench, write));
    json_decref(ask(bench, flush));
    json_decref(ask(bench, close)); /* the last close of a block device writes its cache out */
}

/* --- what is on the host --------------------------------------------------------------------------- */

/* The uid in "+uid:+gid". */
static uid_t label_uid(const char *label)
{
    return (uid_t)strtoul(label + 1, NULL, 10);
}

static void assert_uid_of_process(struct bench *bench)
{
    CLEANUP_FREE char *path = text_format("/proc/%d/status", (int)guest_process(bench->guest.uuid));
    CLEANUP_FREE char *status = NULL;
    MUST(file_read(path, 1 << 16, &status, NULL, &err));
    unsigned uid = label_uid(bench->label);
    CLEANUP_FREE char *line = text_format("\nUid:\t%u\t%u\t%u\t%u\n", uid, uid, uid, uid);
    if (!strstr(status, line))
        fail_msg("QEMU is not uid %u: %s", uid, status);
}

static void assert_mode(const char *path, uid_t uid, mode_t mode)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    if (info.st_uid != uid || (info.st_mode & 07777) != mode)
        fail_msg("%s is uid %u's with mode %04o", path, info.st_uid, info.st_mode & 07777);
}

static int64_t megabytes(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_blocks * 512 / 1000000;
}

/* The guest's display speaks: a session and a viewer can be opened. */
static void assert_display(struct bench *bench)
{
    char greeting[13] = "";
    struct pollfd ready = {.events = POLLIN};
    CLEANUP_CLOSE int fd = guest_open_display(&bench->guest, CALL_MS, &err);
    if (fd < 0)
        fail_msg("%s", err.text);
    ready.fd = fd;
    assert_int_equal(poll(&ready, 1, CALL_MS), 1);
    assert_int_equal(read(fd, greeting, sizeof greeting - 1), sizeof greeting - 1);
    assert_string_equal(greeting, "RFB 003.008\n");
}

/* --- the tests ------------------------------------------------------------------------------------- */

static struct golden_key a_key(const struct bench *bench)
{
    struct golden_key key = {
        .libvirt_version = bench->facts.libvirt_version,
        .qemu_version = bench->facts.qemu_version,
        .vcpu = 1,
        .mem_mib = 1024,
        .disk_gib = 1,
    };
    memcpy(key.image_digest, bench->image->manifest_sha256, sizeof key.image_digest);
    snprintf(key.machine, sizeof key.machine, "%s", bench->facts.machine);
    memcpy(key.uuid, bench->guest.uuid, sizeof key.uuid);
    return key;
}

/* Boots, settles, is saved and kept. */
static void make_golden(struct bench *bench)
{
    CLEANUP(free_guest) struct trial guest = {0};
    CLEANUP_FREE char *state = golden_state(bench->golden, bench->name);
    CLEANUP_FREE char *disk = golden_disk(bench->golden, bench->name);
    bench->key = a_key(bench);
    prepare(bench, "", false, &guest);
    int64_t begin_ms = clock_monotonic_ms();
    MUST(guest_start(&bench->guest, &guest.spec, false, START_MS, &err));
    MUST(guest_agent_wait(&bench->guest, clock_deadline(START_MS), &err));
    int64_t booted_ms = clock_monotonic_ms();
    assert_uid_of_process(bench);
    assert_mode(guest.overlay, label_uid(bench->label), 0600);
    write_disk(bench, "R29sZGVu"); /* "Golden" */

    MUST(guest_pause(&bench->guest, CALL_MS, &err)); /* as a prepared guest is */
    int64_t save_ms = clock_monotonic_ms();
    MUST(guest_save(&bench->guest, state, START_MS, &err));
    int64_t saved_ms = clock_monotonic_ms();
    enum guest_state gone;
    read_state(bench, &gone);
    assert_int_equal(gone, GUEST_GONE);
    assert_int_equal(golden_check(bench->golden, bench->name, &bench->key, bench->cache, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    MUST(golden_keep(bench->golden, bench->name, &bench->key, guest.overlay, bench->cache, &err));
    int64_t kept_ms = clock_monotonic_ms();
    assert_mode(state, 0, 0600);
    assert_mode(disk, 0, 0440);
    assert_int_equal(access(guest.overlay, F_OK), -1);
    MUST(file_remove(guest.console, &err));
    print_message("boot %" PRId64 " ms, save %" PRId64 " ms, keep %" PRId64 " ms; state %" PRId64
                  " MB, disk %" PRId64 " MB\n",
                  booted_ms - begin_ms, saved_ms - save_ms, kept_ms - saved_ms, megabytes(state),
                  megabytes(disk));
}

/* Restores it for a lease, looks at everything, ends it. The guest's random bytes. *Owned*. */
static char *one_lease(struct bench *bench, const char *lease_id)
{
    CLEANUP(free_guest) struct trial guest = {0};
    CLEANUP_FREE char *state = golden_state(bench->golden, bench->name);
    int64_t check_us = clock_monotonic_us();
    MUST(golden_check(bench->golden, bench->name, &bench->key, bench->cache, &err));
    check_us = clock_monotonic_us() - check_us;
    int64_t begin_ms = clock_monotonic_ms();
    prepare(bench, lease_id, true, &guest);
    int64_t made_ms = clock_monotonic_ms();
    MUST(guest_restore(&bench->guest, &guest.spec, state, START_MS, &err));
    int64_t restored_ms = clock_monotonic_ms();
    MUST(guest_agent_wait(&bench->guest, clock_deadline(START_MS), &err));
    int64_t usable_ms = clock_monotonic_ms();
    print_message("check %" PRId64 " us, overlay %" PRId64 " ms, restore %" PRId64 " ms, agent after %" PRId64
                  " ms\n",
                  check_us, made_ms - begin_ms, restored_ms - made_ms, usable_ms - restored_ms);

    /* what was opened by path is what was checked, and libvirt left the files as they were */
    MUST(golden_check(bench->golden, bench->name, &bench->key, bench->cache, &err));
    MUST(image_recheck(bench->image, &err));
    assert_uid_of_process(bench);
    enum guest_state running;
    read_state(bench, &running);
    assert_int_equal(running, GUEST_RUNNING);
    assert_display(bench);

    /* a later run of the node finds it to be what it was, and only so */
    const char *images = getenv("BERTHOS_TEST_IMAGES");
    MUST(guest_reinspect(&bench->guest, &guest.spec, images, bench->golden, CALL_MS, &err));
    assert_int_equal(guest_reinspect(&bench->guest, &guest.spec, images, bench->overlays, CALL_MS, &err), -1);
    assert_non_null(strstr(err.text, "golden state"));

    CLEANUP_FREE char *disk = read_in_guest(bench, "/dev/vda");
    assert_true(
        text_starts(disk, "R29sZGVu")); /* what the golden guest wrote, not what the lease before did */
    write_disk(bench, "bGVhc2VkIQ==");
    char *bytes = read_in_guest(bench, "/dev/urandom");
    MUST(guest_destroy(&bench->guest, CALL_MS, &err));
    return bytes;
}

static size_t count_entries(const char *folder)
{
    size_t count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *entry = readdir(listing); entry; entry = readdir(listing))
        count += entry->d_name[0] != '.';
    closedir(listing);
    return count;
}

/* Waits until libvirt no longer knows the domain, and the folder has this many entries. */
static void wait_gone(struct bench *bench, const char *folder, size_t entries)
{
    int64_t deadline_ms = clock_deadline(CALL_MS);
    for (;;) {
        enum guest_state now;
        read_state(bench, &now);
        size_t found = count_entries(folder);
        if (now == GUEST_GONE && found == entries)
            return;
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("state %d, %zu entries in %s", now, found, folder);
        clock_sleep_ms(50);
    }
}

/* A save to a disk that is full. A file system of its own, so that the host's disk stays as it is. */
static void save_without_room(struct bench *bench)
{
    CLEANUP_FREE char *small = make_folder(bench->golden, "small", 0711);
    CLEANUP_FREE char *path = golden_state(small, bench->name);
    assert_int_equal(mount("berthos-live", small, "tmpfs", MS_NODEV | MS_NOSUID, "size=16m,mode=0711"), 0);
    int saved = guest_save(&bench->guest, path, START_MS, &err);
    size_t left = count_entries(small);
    int unmounted = umount(small);
    assert_int_equal(saved, -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    assert_int_equal(left, 0);
    assert_int_equal(unmounted | rmdir(small), 0);
}

/* A save that fails leaves the guest as it was and no file; one that is late leaves no file when it ends. */
static void saves_that_fail(void **state)
{
    struct bench *bench = *state;
    CLEANUP(free_guest) struct trial guest = {0};
    CLEANUP_FREE char *nowhere = golden_state(bench->overlays, "no-folder/one");
    CLEANUP_FREE char *taken = golden_state(bench->golden, "taken");
    CLEANUP_FREE char *late = golden_state(bench->golden, bench->name);
    enum guest_state now;
    prepare(bench, "", false, &guest);
    MUST(guest_start(&bench->guest, &guest.spec, false, START_MS, &err));
    MUST(guest_agent_wait(&bench->guest, clock_deadline(START_MS), &err));

    assert_int_equal(guest_save(&bench->guest, nowhere, START_MS, &err), -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    save_without_room(bench);
    MUST(file_write_atomic(taken, 0600, "mine", 4, &err));
    assert_int_equal(guest_save(&bench->guest, taken, START_MS, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    read_state(bench, &now);
    assert_int_equal(now, GUEST_RUNNING);
    MUST(guest_agent_ping(&bench->guest, CALL_MS, &err));

    assert_int_equal(guest_save(&bench->guest, late, 30, &err), -1);
    assert_int_equal(err.code, ERROR_HYPERVISOR);
    wait_gone(bench, bench->golden, 1); /* the save went on to its end; "taken" is left */
    CLEANUP_FREE char *kept = NULL;
    MUST(file_read(taken, 100, &kept, NULL, &err));
    assert_string_equal(kept, "mine");
}

static atomic_int ended; /* guests */

static void count_end(void *context, const char *uuid)
{
    (void)context, (void)uuid;
    ended++;
}

/*
 * A restore whose caller gives up: it comes up after all, once libvirt is done with it, and is destroyed by
 * the worker that is too late. On a busy host a short time is over before anything has begun: the next is
 * longer.
 */
static void restore_too_late(struct bench *bench, const struct guest_spec *spec, const char *saved)
{
    const struct guest_watcher watcher = {.gone = count_end};
    hypervisor_watch(bench->hypervisor, &watcher);
    for (int64_t timeout_ms = 60; ended == 0 && timeout_ms < 10000; timeout_ms += timeout_ms / 2) {
        assert_int_equal(guest_restore(&bench->guest, spec, saved, timeout_ms, &err), -1);
        assert_int_equal(err.code, ERROR_HYPERVISOR);
        int64_t deadline_ms = clock_deadline(3000);
        do
            wait_gone(bench, bench->overlays, 2);
        while (ended == 0 && clock_left_ms(deadline_ms) > 0);
    }
    assert_true(ended > 0);
    hypervisor_watch(bench->hypervisor, NULL);
}

/* Neither a state that is not this guest's, nor a damaged one, nor a late one leaves anything running. */
static void restores_that_fail(void **state)
{
    struct bench *bench = *state;
    make_golden(bench);
    CLEANUP(free_guest) struct trial guest = {0};
    CLEANUP_FREE char *saved = golden_state(bench->golden, bench->name);
    CLEANUP_FREE char *short_one = golden_state(bench->golden, "short");
    prepare(bench, "l_1", true, &guest);

    struct guest_spec other = guest.spec;
    other.mem_mib = 512;
    assert_int_equal(guest_restore(&bench->guest, &other, saved, START_MS, &err), -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    assert_non_null(strstr(err.text, "not to be restored"));
    assert_int_equal(guest_restore(&bench->guest, &guest.spec, short_one, START_MS, &err), -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);

    const char *const copy[] = {"cp", saved, short_one, NULL};
    MUST(process_run(copy, START_MS, NULL, &err));
    struct stat info;
    assert_int_equal(stat(short_one, &info), 0);
    assert_int_equal(truncate(short_one, info.st_size / 2), 0);
    int64_t begin_ms = clock_monotonic_ms();
    assert_int_equal(guest_restore(&bench->guest, &guest.spec, short_one, START_MS, &err), -1);
    print_message("a state cut in half: refused after %" PRId64 " ms: %s\n", clock_monotonic_ms() - begin_ms,
                  err.text);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    wait_gone(bench, bench->overlays, 2); /* overlay and console */

    restore_too_late(bench, &guest.spec, saved);
    MUST(guest_restore(&bench->guest, &guest.spec, saved, START_MS, &err));
    MUST(guest_agent_wait(&bench->guest, clock_deadline(START_MS), &err));
}

static void two_leases_of_one_state(void **state)
{
    struct bench *bench = *state;
    make_golden(bench);
    CLEANUP_FREE char *first = one_lease(bench, "l_1");
    CLEANUP_FREE char *second = one_lease(bench, "l_2");
    assert_int_equal(strlen(first), strlen(second));
    assert_string_not_equal(first, second);
    MUST(golden_drop(bench->golden, bench->name, &err));
}

/* A QEMU of another berth that names this berth's overlay: the kernel says no, and nothing runs. */
static void the_other_berth_cannot_open_the_overlay(void **state)
{
    struct bench *bench = *state;
    CLEANUP(free_guest) struct trial guest = {0};
    prepare(bench, "l_1", false, &guest);
    char name[GUEST_NAME_SIZE], label[GUEST_LABEL_SIZE];
    struct guest other = {.hypervisor = bench->hypervisor};
    struct guest_spec intruder = guest.spec;
    guest_name(bench->node_id, OTHER_BERTH, name);
    guest_uuid(bench->node_id, OTHER_BERTH, other.uuid);
    assert_true(guest_label(bench->facts.qemu_label, bench->node_id, OTHER_BERTH, NULL, label));
    intruder.name = name;
    intruder.uuid = other.uuid;
    intruder.qemu_label = label;
    assert_int_equal(guest_start(&other, &intruder, true, START_MS, &err), -1);
    if (!strstr(err.text, "Permission denied"))
        fail_msg("refused for another reason: %s", err.text);
    MUST(guest_start(&bench->guest, &guest.spec, true, START_MS, &err));
    MUST(guest_destroy(&bench->guest, CALL_MS, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_leases_of_one_state, setup, teardown),
        cmocka_unit_test_setup_teardown(saves_that_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(restores_that_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(the_other_berth_cannot_open_the_overlay, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
