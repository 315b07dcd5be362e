/* node.toml: defaults, every key, and the sentence for everything that is wrong. */
#include "unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "config/config.h"
#include "config/settings.h"

static char home[64];

static int make_home(void **state)
{
    (void)state;
    strcpy(home, "/tmp/berth-config-XXXXXX");
    setenv("HOME", "/nonexistent", 1);
    unsetenv("XDG_STATE_HOME");
    return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *file = file_join(home, "node.toml");
    file_remove(file, &err);
    return rmdir(home);
}

static void put(const char *text, size_t size)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *file = file_join(home, "node.toml");
    assert_int_equal(file_write_atomic(file, 0600, text, size, &err), 0);
}

static struct config *load(const char *text)
{
    struct error err = ERROR_INIT;
    put(text, strlen(text));
    struct config *config = config_load(home, &err);
    if (!config)
        fail_msg("%s refused: %s", text, err.text);
    assert_int_equal(err.code, ERROR_NONE);
    return config;
}

/* The sentence without the path in front: "LINE:COLUMN: ...". */
static void refused(const char *text, const char *sentence)
{
    struct error err = ERROR_INIT;
    put(text, strlen(text));
    CLEANUP_CONFIG struct config *config = config_load(home, &err);
    if (config)
        fail_msg("%s was taken", text);
    assert_int_equal(err.code, ERROR_CONFIG);
    CLEANUP_FREE char *whole = text_format("%s/node.toml:%s", home, sentence);
    assert_string_equal(err.text, whole);
}

static void test_defaults_without_a_file(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_CONFIG struct config *config = config_load(home, &err);
    assert_non_null(config);
    CLEANUP_FREE char *path = file_join(home, "node.toml");
    assert_string_equal(config->home, home);
    assert_string_equal(config->path, path);
    assert_int_equal(config->class, CLASS_VM_GUEST);
    assert_int_equal(config->chassis, CHASSIS_UNKNOWN);
    assert_int_equal(config->intent, INTENT_PRIVATE);
    assert_int_equal(config->guest_os, GUEST_OS_LINUX);
    assert_string_equal(config->bind, "127.0.0.1");
    assert_int_equal(config->port, 7432);
    assert_int_equal(config->egress, EGRESS_DEFAULT_DENY);
    assert_false(config->always_on);
    assert_false(config->wired);
    assert_string_equal(config->image, "berthos-linux-desktop:v1");
    assert_string_equal(config->state_dir, "/var/lib/berthos");
    assert_string_equal(config->image_dir, "/var/lib/berthos/images");
    assert_null(config->image_digest);
    assert_int_equal(config->berths, 1);
    assert_int_equal(config->vcpu_overcommit, 1);
    assert_string_equal(config->libvirt_uri, "qemu:///system");
    assert_int_equal(config->accel, ACCEL_KVM);
    assert_int_equal(config->vcpu, 2);
    assert_int_equal(config->mem_gib, 4);
    assert_int_equal(config->disk_gib, 40);
    assert_int_equal(config->max_lease_seconds, 86400);
    assert_int_equal(config->start_timeout_seconds, 60);
    assert_int_equal(config->warm, WARM_DEFAULT);
}

static void test_every_key_is_read(void **state)
{
    (void)state;
    CLEANUP_CONFIG struct config *config = load("class = 'dedicated-server'\n"
                                                "chassis = \"vm-host\"\n"
                                                "intent = \"public\"\n"
                                                "guest_os = \"macos\"\n"
                                                "bind = \"::1\"\n"
                                                "port = 0\n"
                                                "egress = \"default-allow\"\n"
                                                "always_on = true\n"
                                                "wired = true\n"
                                                "image = \"berthos-test-guest:v1\"\n"
                                                "state_dir = \"/srv/berth\"\n"
                                                "image_digest = \"0123456789abcdef0123456789abcdef"
                                                "0123456789abcdef0123456789abcdef\"\n"
                                                "berths = 0x40\n"
                                                "vcpu_overcommit = 4\n"
                                                "libvirt_uri = \"qemu:///session\"\n"
                                                "accel = \"tcg\"\n"
                                                "vcpu = 64\n"
                                                "mem_gib = 512\n"
                                                "disk_gib = 4_096\n"
                                                "max_lease_seconds = 0\n"
                                                "start_timeout_seconds = 5\n"
                                                "warm = \"off\"\n");
    assert_int_equal(config->class, CLASS_DEDICATED_SERVER);
    assert_int_equal(config->chassis, CHASSIS_VM_HOST);
    assert_int_equal(config->intent, INTENT_PUBLIC);
    assert_int_equal(config->guest_os, GUEST_OS_MACOS);
    assert_string_equal(config->bind, "::1");
    assert_int_equal(config->port, 0);
    assert_int_equal(config->egress, EGRESS_DEFAULT_ALLOW);
    assert_true(config->always_on);
    assert_true(config->wired);
    assert_string_equal(config->image, "berthos-test-guest:v1");
    assert_string_equal(config->state_dir, "/srv/berth");
    assert_string_equal(config->image_dir, "/srv/berth/images");
    assert_int_equal(strlen(config->image_digest), 64);
    assert_int_equal(config->berths, 64);
    assert_int_equal(config->vcpu_overcommit, 4);
    assert_string_equal(config->libvirt_uri, "qemu:///session");
    assert_int_equal(config->accel, ACCEL_TCG);
    assert_int_equal(config->vcpu, 64);
    assert_int_equal(config->mem_gib, 512);
    assert_int_equal(config->disk_gib, 4096);
    assert_int_equal(config->max_lease_seconds, 0);
    assert_int_equal(config->start_timeout_seconds, 5);
    assert_int_equal(config->warm, WARM_OFF);
}

static void test_derived_defaults(void **state)
{
    (void)state;
    CLEANUP_CONFIG struct config *tcg = load("accel = \"tcg\"\n");
    assert_int_equal(tcg->start_timeout_seconds, 300);
    CLEANUP_CONFIG struct config *apart = load("image_dir = \"/srv/images\"\n");
    assert_string_equal(apart->image_dir, "/srv/images");
    assert_string_equal(apart->state_dir, "/var/lib/berthos");

    setenv("XDG_STATE_HOME", "/home/a/state", 1);
    CLEANUP_CONFIG struct config *session = load("libvirt_uri = \"qemu:///session?socket=/run/s.sock\"\n");
    assert_string_equal(session->state_dir, "/home/a/state/berthos");
    CLEANUP_CONFIG struct config *system = load("libvirt_uri = \"qemu:///system?socket=/run/s.sock\"\n");
    assert_string_equal(system->state_dir, "/var/lib/berthos");
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/home/a", 1);
    CLEANUP_CONFIG struct config *plain = load("libvirt_uri = \"qemu:///session\"\n");
    assert_string_equal(plain->state_dir, "/home/a/.local/state/berthos");
    unsetenv("XDG_STATE_HOME");
}

/* A default that the host decides has no word of its own, and differs from each that has. */
static void test_warm_that_is_not_set(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    const struct config_key *key = config_key_find("warm");
    CLEANUP_CONFIG struct config *left = load("vcpu = 2\n");
    assert_null(config_key_text(key, left));
    assert_string_equal(config_warm_word(left->warm), "unknown");
    refused("warm = \"default\"\n", "1:8: \"warm\" must be \"ram\", \"disk\" or \"off\", not \"default\"");
    static const char *const words[] = {"ram", "disk", "off"};
    for (unsigned i = 0; i < 3; i++) {
        CLEANUP_FREE char *text = text_format("vcpu = 2\nwarm = \"%s\"\n", words[i]);
        CLEANUP_FREE char *value = text_format("\"%s\"", words[i]);
        CLEANUP_CONFIG struct config *set = load(text);
        CLEANUP_FREE char *shown = config_key_text(key, set);
        assert_int_equal(set->warm, i);
        assert_string_equal(shown, value);
        assert_int_equal(config_check_unchanged(left, &err), -1);
        err = (struct error)ERROR_INIT;
    }
    put("# vcpu = 3\n", 11);
    assert_int_equal(config_check_unchanged(left, &err), 0);
}

static void test_unknown_keys(void **state)
{
    (void)state;
    refused("vcpus = 2\n", "1:1: unknown key \"vcpus\"; did you mean \"vcpu\"?");
    refused("# a\n\n  Intnet = 'private'\n", "3:3: unknown key \"Intnet\"; did you mean \"intent\"?");
    refused("colour = 1\n", "1:1: unknown key \"colour\"; berth-node.toml(5) lists the keys");
    refused("[node]\nvcpu = 2\n", "1:2: unknown key \"node\"; this file has no tables");
    refused("\"\\u0007\" = 2\n", "1:1: unknown key \"?\"; berth-node.toml(5) lists the keys");
    /* the first in the file, not the first of the alphabet */
    refused("zzzzzzz = 1\naaaaaaa = 1\n", "1:1: unknown key \"zzzzzzz\"; berth-node.toml(5) lists the keys");
}

static void test_wrong_types(void **state)
{
    (void)state;
    refused("vcpu = \"2\"\n", "1:8: \"vcpu\" must be a whole number from 1 to 64, not a string");
    refused("\nvcpu = 2.0\n", "2:8: \"vcpu\" must be a whole number from 1 to 64, not a number with a point");
    refused("vcpu = [2]\n", "1:8: \"vcpu\" must be a whole number from 1 to 64, not an array");
    refused("wired = 1\n", "1:9: \"wired\" must be true or false, not a whole number");
    refused("wired = \"yes\"\n", "1:9: \"wired\" must be true or false, not a string");
    refused("accel = true\n", "1:9: \"accel\" must be \"kvm\" or \"tcg\", not true or false");
    refused("image = 2026-01-31\n", "1:9: \"image\" must be an image name such as "
                                    "\"berthos-linux-desktop:v1\", not a date or time");
    refused("port.a = 1\n", "1:1: \"port\" must be a whole number from 0 to 65535, not a table");
}

static void test_values_out_of_bounds(void **state)
{
    (void)state;
    refused("vcpu = 0\n", "1:8: \"vcpu\" must be a whole number from 1 to 64, not 0");
    refused("vcpu = 65\n", "1:8: \"vcpu\" must be a whole number from 1 to 64, not 65");
    refused("mem_gib = 513\n", "1:11: \"mem_gib\" must be a whole number from 1 to 512, not 513");
    refused("disk_gib = 4097\n", "1:12: \"disk_gib\" must be a whole number from 1 to 4096, not 4097");
    refused("berths = 65\n", "1:10: \"berths\" must be a whole number from 1 to 64, not 65");
    refused("port = 65536\n", "1:8: \"port\" must be a whole number from 0 to 65535, not 65536");
    refused("port = -1\n", "1:8: \"port\" must be a whole number from 0 to 65535, not -1");
    refused("max_lease_seconds = 31536001\n",
            "1:21: \"max_lease_seconds\" must be a whole number from 0 to 31536000, not 31536001");
    refused("start_timeout_seconds = 4\n",
            "1:25: \"start_timeout_seconds\" must be a whole number from 5 to 3600, not 4");
    refused("start_timeout_seconds = 3601\n",
            "1:25: \"start_timeout_seconds\" must be a whole number from 5 to 3600, not 3601");
    refused("accel = \"hvf\"\n", "1:9: \"accel\" must be \"kvm\" or \"tcg\", not \"hvf\"");
    refused("accel = \"KVM\"\n", "1:9: \"accel\" must be \"kvm\" or \"tcg\", not \"KVM\"");
    refused("warm = \"\\u001b[31m\"\n", "1:8: \"warm\" must be \"ram\", \"disk\" or \"off\", not \"?[31m\"");
    refused("state_dir = \"state\"\n", "1:13: \"state_dir\" must be an absolute path, not \"state\"");
    refused("image = \"Desktop\"\n", "1:9: \"image\" must be an image name such as "
                                     "\"berthos-linux-desktop:v1\", not \"Desktop\"");
    refused("image = \".x:1\"\n", "1:9: \"image\" must be an image name such as "
                                  "\"berthos-linux-desktop:v1\", not \".x:1\"");
    refused("image_digest = \"ABC\"\n",
            "1:16: \"image_digest\" must be 64 lower-case hex digits, not \"ABC\"");
    refused("bind = \"\"\n", "1:8: \"bind\" must be an IP address, not \"\"");
}

static void test_hypervisor_of_this_host_only(void **state)
{
    (void)state;
    static const char *const remote[] = {
        "qemu+ssh://host/system",
        "qemu+tcp://127.0.0.1/system",
        "qemu://host/system",
        "xen:///system",
        "qemu:///system/",
        "qemu:///system?socket=relative",
        "qemu:///system?no_verify=1",
        "qemu:///systemd",
        "qemu:///system?socket=/a&b=c",
        "qemu:///system?socket=/a%20",
        "test:///default",
        "",
    };
    for (size_t i = 0; i < sizeof remote / sizeof remote[0]; i++) {
        CLEANUP_FREE char *text = text_format("libvirt_uri = \"%s\"\n", remote[i]);
        CLEANUP_FREE char *sentence = text_format(
            "1:15: \"libvirt_uri\" must be \"qemu:///system\" or \"qemu:///session\", either with "
            "?socket=/PATH (the hypervisor must be on this host), not \"%s\"",
            remote[i]);
        refused(text, sentence);
    }
}

static void test_overcommit_needs_tcg(void **state)
{
    (void)state;
    refused("\nvcpu_overcommit = 2\n", "2:19: \"vcpu_overcommit\" above 1 needs accel = \"tcg\": under kvm a "
                                       "vCPU is a CPU of the host");
    CLEANUP_CONFIG struct config *before = load("accel = \"tcg\"\nvcpu_overcommit = 2\n");
    CLEANUP_CONFIG struct config *after = load("vcpu_overcommit = 2\naccel = \"tcg\"\n");
    assert_int_equal(before->vcpu_overcommit, 2);
    assert_int_equal(after->vcpu_overcommit, 2);
}

static void test_common_slips(void **state)
{
    (void)state;
    refused("accel = kvm\n", "1:9: this is no TOML value; a string stands in quotes, as in \"kvm\"");
    refused("accel = \"kvm\n",
            "1:13: a string ends with its quote on the line where it begins, and holds no control "
            "characters");
}

static void assert_syntax(const char *text, size_t size, const char *place)
{
    struct error err = ERROR_INIT;
    put(text, size);
    CLEANUP_CONFIG struct config *config = config_load(home, &err);
    if (config)
        fail_msg("%s was taken", text);
    assert_int_equal(err.code, ERROR_CONFIG);
    CLEANUP_FREE char *start = text_format("%s/node.toml:%s: ", home, place);
    if (!text_starts(err.text, start) || strchr(err.text, '\n'))
        fail_msg("\"%s\" does not start with \"%s\" or has several lines", err.text, start);
}

static void test_syntax_errors_have_a_place(void **state)
{
    (void)state;
    assert_syntax("vcpu 2\n", 7, "1:6");
    assert_syntax("vcpu = 2\nmem_gib =\n", 19, "2:10");
    assert_syntax("vcpu = 2\nvcpu = 3\n", 18, "2:8");
    assert_syntax("image = \"a\n", 11, "1:11");
    assert_syntax("vcpu = 99999999999999999999\n", 28, "1:28");
    assert_syntax("bind = \"a\\u0000b\"\n", 18, "1:8");
    assert_syntax("vcpu = 2\n\0", 10, "2:1");
    assert_syntax("vcpu = 2\n[=\n", 12, "2:2"); /* an assertion of toml++'s in debug builds */
    assert_syntax("bind = \"\xff\"\n", 11, "1:8");
}

static void test_what_is_no_file_of_ours(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    size_t size = 64 * 1024 + 1;
    CLEANUP_FREE char *text = malloc(size);
    memset(text, '\n', size);
    put(text, size);
    assert_null(config_load(home, &err));
    assert_int_equal(err.code, ERROR_CONFIG);
    assert_non_null(strstr(err.text, "is larger than"));

    put(text, size - 1);
    CLEANUP_CONFIG struct config *config = config_load(home, &err);
    assert_non_null(config);

    CLEANUP_FREE char *file = file_join(home, "node.toml");
    assert_int_equal(file_remove(file, &err), 0);
    assert_int_equal(mkdir(file, 0700), 0);
    assert_null(config_load(home, &err));
    assert_int_equal(err.code, ERROR_CONFIG);
    assert_int_equal(rmdir(file), 0);
}

static void test_the_written_file(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *file = file_join(home, "node.toml");
    assert_int_equal(config_write_default(home, &err), 0);
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);

    CLEANUP_FREE char *text = NULL;
    assert_int_equal(file_read(file, 65536, &text, NULL, &err), 0);
    for (const struct config_key *key = config_keys; key->member.name; key++) {
        CLEANUP_FREE char *set = text_format("\n%s = ", key->member.name);
        CLEANUP_FREE char *left = text_format("\n# %s = ", key->member.name);
        if (!strstr(text, key->member.fallback ? set : left))
            fail_msg("\"%s\" is not in the written file", key->member.name);
    }
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        assert_true(strcspn(line, "\n") <= 130);
    /* It means the same as no file at all. */
    CLEANUP_CONFIG struct config *config = config_load(home, &err);
    assert_non_null(config);
    assert_string_equal(config->state_dir, "/var/lib/berthos");
    assert_int_equal(config->start_timeout_seconds, 60);
    assert_int_equal(config->warm, WARM_DEFAULT);

    /* What the operator wrote stays. */
    put("vcpu = 7\n", 9);
    assert_int_equal(config_write_default(home, &err), 0);
    CLEANUP_CONFIG struct config *kept = config_load(home, &err);
    assert_int_equal(kept->vcpu, 7);
}

/* roff writes a hyphen that is to be copied as "\-". */
static char *without_roff(const char *roff)
{
    char *text = text_copy(roff);
    char *out = text;
    for (const char *in = text; *in; in++)
        if (!(in[0] == '\\' && in[1] == '-'))
            *out++ = *in;
    *out = '\0';
    return text;
}

static void test_manual_has_the_same_table(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(getenv("BERTHOS_SOURCE_DIR"), "docs/berth-node.toml.5");
    CLEANUP_FREE char *roff = NULL;
    if (file_read(path, 65536, &roff, NULL, &err) < 0)
        fail_msg("%s", err.text);
    CLEANUP_FREE char *manual = without_roff(roff);
    size_t count = 0;
    for (const struct config_key *key = config_keys; key->member.name; key++) {
        bool quoted =
            key->member.fallback && (key->member.kind == MEMBER_WORD || key->member.kind == MEMBER_STRING);
        CLEANUP_FREE char *allowed = config_key_allowed(key);
        CLEANUP_FREE char *row = text_format(
            "\n.TP\n.B %s\nDefault: %s%s%s.\nAllowed: %s.\n", key->member.name, quoted ? "\"" : "",
            key->member.fallback ? key->member.fallback : key->derived, quoted ? "\"" : "", allowed);
        count++;
        if (!strstr(manual, row))
            fail_msg("docs/berth-node.toml.5 lacks this row:%s", row);
    }
    size_t rows = 0;
    for (const char *at = strstr(manual, "\nDefault: "); at; at = strstr(at + 1, "\nDefault: "))
        rows++;
    assert_int_equal(rows, count);
}

int main(void)
{
#define WITH_HOME(test) cmocka_unit_test_setup_teardown(test, make_home, remove_home)
    const struct CMUnitTest tests[] = {
        WITH_HOME(test_defaults_without_a_file),
        WITH_HOME(test_every_key_is_read),
        WITH_HOME(test_derived_defaults),
        WITH_HOME(test_warm_that_is_not_set),
        WITH_HOME(test_unknown_keys),
        WITH_HOME(test_wrong_types),
        WITH_HOME(test_values_out_of_bounds),
        WITH_HOME(test_hypervisor_of_this_host_only),
        WITH_HOME(test_overcommit_needs_tcg),
        WITH_HOME(test_common_slips),
        WITH_HOME(test_syntax_errors_have_a_place),
        WITH_HOME(test_what_is_no_file_of_ours),
        WITH_HOME(test_the_written_file),
        cmocka_unit_test(test_manual_has_the_same_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
