/* What the costly findings stand on: each change of it is seen, and an unknown daemon is never the same one.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "doctor/ground.h"
#include "doctor_fixture.h"

struct bench {
    char root[64], dev[80], proc[80], run[80], images[80], home[80], toml[96];
    struct probe_roots roots;
    struct config config;
};

static void put(const struct bench *bench, const char *name, const char *text)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(bench->root, name);
    CLEANUP_FREE char *folder = text_copy(path);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(file_make_folder(folder, 0755, &err), 0);
    assert_int_equal(file_write_atomic(path, 0644, text, strlen(text), &err), 0);
}

static int setup(void **state)
{
    static char image[] = "unit-guest:v1";
    struct bench *bench = calloc(1, sizeof *bench);
    snprintf(bench->root, sizeof bench->root, "/tmp/berthos-unit-XXXXXX");
    assert_non_null(mkdtemp(bench->root));
    snprintf(bench->dev, sizeof bench->dev, "%s/dev", bench->root);
    snprintf(bench->proc, sizeof bench->proc, "%s/proc", bench->root);
    snprintf(bench->run, sizeof bench->run, "%s/run", bench->root);
    snprintf(bench->images, sizeof bench->images, "%s/images", bench->root);
    snprintf(bench->home, sizeof bench->home, "%s/home", bench->root);
    snprintf(bench->toml, sizeof bench->toml, "%s/node.toml", bench->home);
    bench->roots = (struct probe_roots){"/nonexistent", bench->proc, bench->dev, "/nonexistent"};
    bench->config = green_config();
    bench->config.image = image;
    bench->config.image_dir = bench->images;
    bench->config.path = bench->toml;
    put(bench, "dev/kvm", "");
    put(bench, "run/libvirtd.pid", "4722");
    put(bench, "proc/4722/stat", "4722 (a ) name) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20");
    put(bench, "home/node.toml", "");
    put(bench, "images/unit-guest-v1.json", "{}");
    put(bench, "images/unit-guest-v1.qcow2", "disk");
    put(bench, "images/unit-guest-v1.kernel", "kernel");
    put(bench, "images/unit-guest-v1.initrd", "initrd");
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    const char *const argv[] = {"rm", "-rf", bench->root, NULL};
    process_run(argv, 10000, NULL, &err);
    free(bench);
    return 0;
}

static struct ground now(const struct bench *bench)
{
    struct ground ground;
    ground_read(&bench->roots, bench->run, &bench->config, &ground);
    return ground;
}

static void test_each_change_is_seen(void **state)
{
    struct bench *bench = *state;
    static const struct {
        const char *name, *text;
    } changes[] = {
        {"images/unit-guest-v1.json", "{}"},
        {"images/unit-guest-v1.qcow2", "disk"},
        {"images/unit-guest-v1.kernel", "kernel"},
        {"images/unit-guest-v1.initrd", "initrd"},
        {"dev/kvm", ""},
        {"home/node.toml", ""},
        {"run/libvirtd.pid", "4722"},
        {"run/virtqemud.pid", "4800"},
        {"proc/4722/stat", "4722 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 778 20"},
    };
    struct ground before = now(bench), same = now(bench);
    assert_true(ground_same(&before, &same));
    assert_int_equal(before.started[0], 777);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        put(bench, changes[i].name, changes[i].text); /* the same bytes in a new file */
        struct ground after = now(bench);
        if (ground_same(&before, &after))
            fail_msg("a new %s was not seen", changes[i].name);
        before = after;
    }
    assert_int_equal(chmod(bench->images, 0700), 0);
    struct ground closed = now(bench);
    assert_false(ground_same(&before, &closed));
}

static void test_gone_is_a_change(void **state)
{
    struct bench *bench = *state;
    struct ground before = now(bench);
    CLEANUP_FREE char *kvm = file_join(bench->dev, "kvm");
    assert_int_equal(unlink(kvm), 0);
    struct ground after = now(bench);
    assert_false(ground_same(&before, &after));
}

static void test_unknown_daemon(void **state)
{
    struct bench *bench = *state;
    CLEANUP_FREE char *pid = file_join(bench->run, "libvirtd.pid");
    assert_int_equal(unlink(pid), 0);
    struct ground one = now(bench), other = now(bench);
    assert_false(ground_same(&one, &other));
    ground_read(&bench->roots, NULL, &bench->config, &one);
    ground_read(&bench->roots, NULL, &bench->config, &other);
    assert_false(ground_same(&one, &other));
}

static void test_run_dir(void **state)
{
    (void)state;
    static char system[] = "qemu:///system", session[] = "qemu:///session",
                own[] = "qemu:///system?socket=/tmp/socket";
    struct config config = {.libvirt_uri = system};
    CLEANUP_FREE char *host = ground_run_dir(&config);
    assert_string_equal(host, "/run");
    setenv("XDG_RUNTIME_DIR", "/run/user/1000", 1);
    config.libvirt_uri = session;
    CLEANUP_FREE char *user = ground_run_dir(&config);
    assert_string_equal(user, "/run/user/1000");
    config.libvirt_uri = own;
    assert_null(ground_run_dir(&config));
}

int main(void)
{
#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_BENCH(test_each_change_is_seen),
        WITH_BENCH(test_gone_is_a_change),
        WITH_BENCH(test_unknown_daemon),
        cmocka_unit_test(test_run_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
