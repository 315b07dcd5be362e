/* base/error.h: the contract of errors as values. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void sets_code_and_sentence(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_int_equal(err.code, ERROR_NONE);
    assert_int_equal(error_set(&err, ERROR_IMAGE, "no manifest %s (%d)", "x.json", 7), -1);
    assert_int_equal(err.code, ERROR_IMAGE);
    assert_string_equal(err.text, "no manifest x.json (7)");
}

static void puts_the_errno_at_the_end(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_int_equal(error_set_errno(&err, ERROR_INTERNAL, ENOSPC, "cannot write %s", "/a"), -1);
    assert_string_equal(err.text, "cannot write /a: No space left on device");
}

static void prefix_keeps_the_code(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_CONFIG, "wrong type");
    assert_int_equal(error_prefix(&err, "%s:%d:%d", "node.toml", 3, 9), -1);
    assert_int_equal(err.code, ERROR_CONFIG);
    assert_string_equal(err.text, "node.toml:3:9: wrong type");
}

static void recode_keeps_the_text(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_TIMEOUT, "too slow");
    assert_int_equal(error_recode(&err, ERROR_IMAGE), -1);
    assert_int_equal(err.code, ERROR_IMAGE);
    assert_string_equal(err.text, "too slow");
}

/* Texts from outside can be of any length: what does not fit is cut, and the terminator stays. */
static void too_long_is_cut(void **state)
{
    (void)state;
    char longer[4096];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_INTERNAL, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    error_prefix(&err, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    error_set_errno(&err, ERROR_INTERNAL, EIO, "%s", longer);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_code_and_sentence), cmocka_unit_test(puts_the_errno_at_the_end),
        cmocka_unit_test(prefix_keeps_the_code),  cmocka_unit_test(recode_keeps_the_text),
        cmocka_unit_test(too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
