/* "Did you mean". */
#include "unit.h"

#include "base/nearest.h"

static const char *const words[] = {"doctor", "node", NULL, "up", "end", "unpark", "park", "screenshot"};

static const char *near(const char *word)
{
    return nearest_word(word, words, sizeof words / sizeof words[0]);
}

static void test_slips(void **state)
{
    (void)state;
    assert_string_equal(near("docter"), "doctor");
    assert_string_equal(near("dcotor"), "doctor");
    assert_string_equal(near("DOCTOR"), "doctor");
    assert_string_equal(near("nod"), "node");
    assert_string_equal(near("prak"), "park");
    assert_string_equal(near("unprk"), "unpark");
    assert_string_equal(near("screnshoot"), "screenshot");
    assert_string_equal(near("pu"), "up");
}

static void test_no_slips(void **state)
{
    (void)state;
    assert_null(near(""));
    assert_null(near("x"));
    assert_null(near("reboot"));
    assert_null(near("lease"));
    assert_null(near("screenshotscreenshotscreenshotscreenshot"));
    assert_null(nearest_word("up", words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_no_slips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
