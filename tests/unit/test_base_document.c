/* base/document.h: JSON from outside, bounded and typed. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"

static json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *document = document_parse(text, strlen(text), &err);
    if (!document)
        fail_msg("%s: %s", text, err.text);
    return document;
}

static void names_line_and_column(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    static const char text[] = "{\"os\": \"linux\",\n  \"vcpu\" 2}";
    assert_null(document_parse(text, sizeof text - 1, &err));
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_non_null(strstr(err.text, "line 2, column 10"));
}

static void refuses_what_is_not_one_document(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "{",
        "{}x",
        "{\"a\":1,\"a\":2}",
        "[1,]",
        "{\"a\":NaN}",
        "{\"a\":01}",
        "{'a':1}",
        "\"",
        "nul",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":99999999999999999999999}",
        "{\"\\u0000\":1}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct error err = ERROR_INIT;
        CLEANUP_JSON json_t *document = document_parse(texts[i], strlen(texts[i]), &err);
        if (document)
            fail_msg("\"%s\" was accepted", texts[i]);
        assert_int_equal(err.code, ERROR_BAD_REQUEST);
    }
}

/* 100,000 brackets would take a recursive parser's stack; the depth is bounded. */
static void refuses_deep_nesting(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    CLEANUP_FREE char *text = malloc(DEPTH);
    struct error err = ERROR_INIT;
    memset(text, '[', DEPTH);
    assert_null(document_parse(text, DEPTH, &err));
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
}

static void integers_are_whole_and_in_bounds(void **state)
{
    (void)state;
    CLEANUP_JSON json_t *object = parsed("{\"low\":1,\"high\":8,\"real\":2.0,\"text\":\"2\",\"null\":null,"
                                         "\"huge\":9223372036854775807,\"true\":true}");
    static const char *const refused[] = {"real", "text", "null", "huge", "true"};
    struct error err = ERROR_INIT;
    int64_t value = 42;
    assert_int_equal(document_integer(object, "low", 1, 8, &value, &err), 0);
    assert_int_equal(value, 1);
    assert_int_equal(document_integer(object, "high", 1, 8, &value, &err), 0);
    assert_int_equal(value, 8);
    assert_int_equal(err.code, ERROR_NONE);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct error reason = ERROR_INIT;
        value = 42;
        assert_int_equal(document_integer(object, refused[i], 1, 8, &value, &reason), -1);
        assert_int_equal(document_maybe_integer(object, refused[i], 1, 8, &value, &reason), -1);
        assert_int_equal(reason.code, ERROR_BAD_REQUEST);
        assert_non_null(strstr(reason.text, refused[i]));
        assert_non_null(strstr(reason.text, "from 1 to 8"));
        assert_int_equal(value, 42);
    }
    assert_int_equal(document_integer(object, "high", 1, 7, &value, &err), -1);
    assert_int_equal(document_integer(object, "low", 2, 8, &value, &err), -1);
}

static void missing_is_not_null(void **state)
{
    (void)state;
    CLEANUP_JSON json_t *object = parsed("{\"s\":null,\"b\":null}");
    struct error err = ERROR_INIT;
    const char *string = "kept";
    bool flag = true;
    int64_t number = 7;
    assert_int_equal(document_maybe_string(object, "x", &string, &err), 0);
    assert_int_equal(document_maybe_bool(object, "x", &flag, &err), 0);
    assert_int_equal(document_maybe_integer(object, "x", 0, 1, &number, &err), 0);
    assert_string_equal(string, "kept");
    assert_true(flag);
    assert_int_equal(number, 7);
    assert_int_equal(document_maybe_string(object, "s", &string, &err), -1);
    assert_int_equal(document_maybe_bool(object, "b", &flag, &err), -1);
    assert_int_equal(document_string(object, "x", &string, &err), -1);
    assert_non_null(strstr(err.text, "missing"));
    assert_int_equal(document_bool(object, "x", &flag, &err), -1);
    assert_int_equal(document_integer(object, "x", 0, 1, &number, &err), -1);
}

static void strings_have_no_nul(void **state)
{
    (void)state;
    CLEANUP_JSON json_t *object = json_object();
    json_object_set_new(object, "os", json_stringn("linux\0windows", 13));
    struct error err = ERROR_INIT;
    const char *value = NULL;
    assert_int_equal(document_string(object, "os", &value, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_null(value);
}

static void unknown_fields_are_named(void **state)
{
    (void)state;
    static const char *const allowed[] = {"os", "vcpu", NULL};
    CLEANUP_JSON json_t *good = parsed("{\"vcpu\":1}");
    CLEANUP_JSON json_t *bad = parsed("{\"os\":\"linux\",\"cpus\":1}");
    CLEANUP_JSON json_t *array = parsed("[]");
    struct error err = ERROR_INIT;
    assert_int_equal(document_keys(good, allowed, &err), 0);
    assert_int_equal(document_keys(bad, allowed, &err), -1);
    assert_non_null(strstr(err.text, "\"cpus\""));
    assert_non_null(strstr(err.text, "os, vcpu"));
    assert_int_equal(document_keys(array, allowed, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
}

static void texts_keep_their_order(void **state)
{
    (void)state;
    CLEANUP_JSON json_t *document = parsed("{ \"z\": 1, \"a\": [true, null] }");
    CLEANUP_FREE char *text = document_text(document);
    CLEANUP_FREE char *pretty = document_pretty(document);
    assert_string_equal(text, "{\"z\":1,\"a\":[true,null]}");
    assert_string_equal(pretty, "{\n  \"z\": 1,\n  \"a\": [\n    true,\n    null\n  ]\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_line_and_column),    cmocka_unit_test(refuses_what_is_not_one_document),
        cmocka_unit_test(refuses_deep_nesting),     cmocka_unit_test(integers_are_whole_and_in_bounds),
        cmocka_unit_test(missing_is_not_null),      cmocka_unit_test(strings_have_no_nul),
        cmocka_unit_test(unknown_fields_are_named), cmocka_unit_test(texts_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
