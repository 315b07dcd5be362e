/* $BERTHOS_HOME, and the words of node.toml's values. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "config/config.h"
#include "config/home.h"

static char home[64];

static int make_home(void **state)
{
    (void)state;
    strcpy(home, "/tmp/berth-home-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
    (void)state;
    return rmdir(home);
}

static void test_words(void **state)
{
    (void)state;
    enum config_intent intent = INTENT_PRIVATE;
    assert_true(config_intent_from("public", &intent));
    assert_int_equal(intent, INTENT_PUBLIC);
    assert_false(config_intent_from("Public", &intent));
    assert_false(config_intent_from("", &intent));
    assert_string_equal(config_class_word(CLASS_LAPTOP), "laptop");
    assert_string_equal(config_chassis_word(CHASSIS_SERVER), "server");
    assert_string_equal(config_intent_word(INTENT_PRIVATE), "private");
    assert_string_equal(config_guest_os_word(GUEST_OS_WINDOWS_PRO), "windows-pro-oem");
    assert_string_equal(config_accel_word(ACCEL_TCG), "tcg");
    assert_string_equal(config_warm_word(WARM_DISK), "disk");
    assert_string_equal(config_warm_word((enum config_warm)99), "unknown");
}

static void test_where_home_is(void **state)
{
    (void)state;
    setenv("BERTHOS_HOME", "/srv/b//", 1);
    CLEANUP_FREE char *set = config_home();
    assert_string_equal(set, "/srv/b");
    setenv("BERTHOS_HOME", "b", 1);
    CLEANUP_FREE char *relative = config_home();
    assert_int_equal(relative[0], '/');
    assert_string_equal(relative + strlen(relative) - 2, "/b");
    setenv("BERTHOS_HOME", "", 1);
    setenv("HOME", "/home/a", 1);
    CLEANUP_FREE char *plain = config_home();
    assert_string_equal(plain, "/home/a/.berthos");
    unsetenv("BERTHOS_HOME");
}

static void test_home_is_ours_alone(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct stat info;
    CLEANUP_FREE char *inner = file_join(home, "inner");
    assert_int_equal(config_make_home(inner, &err), 0);
    assert_int_equal(stat(inner, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(config_make_home(inner, &err), 0);
    for (mode_t bit = 1; bit <= 040; bit <<= 1) {
        assert_int_equal(chmod(inner, 0700 | bit), 0);
        assert_int_equal(config_make_home(inner, &err), -1);
        assert_int_equal(err.code, ERROR_CONFIG);
        assert_non_null(strstr(err.text, "chmod 700"));
    }
    assert_int_equal(chmod(inner, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(inner, 65534, 65534), 0);
        assert_int_equal(config_make_home(inner, &err), -1);
        assert_non_null(strstr(err.text, "belongs to nobody"));
    }
    assert_int_equal(rmdir(inner), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_where_home_is),
        cmocka_unit_test_setup_teardown(test_home_is_ours_alone, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
