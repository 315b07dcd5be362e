/* base/member.h: what each kind takes from JSON and from text, and how it is written. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/member.h"

enum colour { RED = 1, GREEN };

struct thing {
    int64_t wide;
    int32_t narrow;
    bool flag;
    enum colour colour;
    char text[4];
    char *string;
};

static bool is_no_x(const char *value)
{
    return !strchr(value, 'x');
}

static const char *const colours[] = {"red", "green", NULL};

#define AT(member) MEMBER_AT(struct thing, member)
static const struct member members[] = {
    {"wide", MEMBER_INTEGER, AT(wide), .min = INT64_MIN, .max = INT64_MAX},
    {"narrow", MEMBER_INTEGER, AT(narrow), .min = -5, .max = 5},
    {"flag", MEMBER_BOOLEAN, AT(flag)},
    {"colour", MEMBER_WORD, AT(colour), .min = RED, .words = colours},
    {"text", MEMBER_TEXT, AT(text), .min = 1, .optional = true},
    {"string", MEMBER_STRING, AT(string), .check = is_no_x, .allowed = "free of x"},
};
enum { COUNT = sizeof members / sizeof members[0] };

static void free_string(struct thing *thing)
{
    free(thing->string);
}

static bool reads(const char *name, const char *value, struct thing *thing)
{
    CLEANUP_JSON json_t *json = json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(json);
    return member_decode(member_find(members, COUNT, name), json, thing);
}

static void values_that_are_taken(void **state)
{
    (void)state;
    CLEANUP(free_string) struct thing thing = {0};
    assert_true(reads("wide", "-9223372036854775808", &thing) && thing.wide == INT64_MIN);
    assert_true(reads("narrow", "-5", &thing) && thing.narrow == -5);
    assert_int_equal(member_integer(member_find(members, COUNT, "narrow"), &thing), -5);
    assert_true(reads("flag", "true", &thing) && thing.flag);
    assert_true(reads("colour", "\"green\"", &thing) && thing.colour == GREEN);
    assert_true(reads("text", "\"abc\"", &thing));
    assert_string_equal(thing.text, "abc");
    assert_true(reads("string", "\"a\"", &thing) && reads("string", "\"\"", &thing));
    assert_string_equal(thing.string, "");
    assert_null(member_find(members, COUNT, "Wide"));
}

static void values_that_are_refused(void **state)
{
    (void)state;
    CLEANUP(free_string) struct thing thing = {.narrow = 3, .text = "a", .colour = RED};
    static const struct {
        const char *name, *value;
    } wrong[] = {{"narrow", "6"},
                 {"narrow", "-6"},
                 {"narrow", "1.0"},
                 {"narrow", "\"1\""},
                 {"narrow", "null"},
                 {"flag", "1"},
                 {"flag", "\"true\""},
                 {"colour", "\"Red\""},
                 {"colour", "1"},
                 {"colour", "\"\""},
                 {"text", "\"\""},
                 {"text", "\"abcd\""},
                 {"text", "[\"a\"]"},
                 {"text", "\"\\u0000\""},
                 {"string", "\"ax\""},
                 {"string", "null"},
                 {"colour", "\"red\\u0000\""}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(reads(wrong[i].name, wrong[i].value, &thing));
    assert_int_equal(thing.narrow, 3);
    assert_int_equal(thing.colour, RED);
    assert_string_equal(thing.text, "a");
    assert_null(thing.string);
    struct member own = {"own", MEMBER_OWN, AT(wide)};
    assert_false(member_decode(&own, json_null(), &thing));
}

static void values_from_text(void **state)
{
    (void)state;
    CLEANUP(free_string) struct thing thing = {0};
    static const struct {
        const char *name, *text;
        bool good;
    } texts[] = {{"narrow", "5", true},     {"narrow", "6", false},  {"narrow", "1 ", false},
                 {"narrow", "", false},     {"flag", "true", true},  {"flag", "yes", false},
                 {"flag", "", false},       {"colour", "red", true}, {"colour", "", false},
                 {"colour", "\xff", false}, {"text", "ab", true},    {"text", "", false},
                 {"string", "12", true}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(member_parse(member_find(members, COUNT, texts[i].name), texts[i].text, &thing),
                         texts[i].good);
    assert_string_equal(thing.string, "12");
}

static void whole_documents(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP(free_string) struct thing thing = {.wide = 1, .colour = GREEN, .text = "a"}, read = {0};
    CLEANUP_JSON json_t *document = json_object();
    member_encode_all(members, COUNT, &thing, document);
    CLEANUP_FREE char *text = document_text(document);
    assert_string_equal(
        text, "{\"wide\":1,\"narrow\":0,\"flag\":false,\"colour\":\"green\",\"text\":\"a\",\"string\":null}");
    assert_int_equal(member_decode_all(members, COUNT, document, &read, &err), -1);
    assert_string_equal(err.text, "the field \"string\" must be free of x");
    json_object_set_new(document, "string", json_string("s"));
    json_object_del(document, "text");
    assert_int_equal(member_decode_all(members, COUNT, document, &read, &err), 0);
    json_object_del(document, "flag");
    assert_int_equal(member_decode_all(members, COUNT, document, &read, &err), -1);
    assert_string_equal(err.text, "the field \"flag\" is missing");
    memcpy(thing.text, "\xff\0", 2);
    thing.colour = 3;
    json_object_clear(document);
    member_encode_all(members, COUNT, &thing, document);
    assert_string_equal(json_string_value(json_object_get(document, "text")), "(not UTF-8)");
    assert_true(json_is_null(json_object_get(document, "colour")));
}

static void sentences(void **state)
{
    (void)state;
    static const char *const expected[COUNT] = {
        "a whole number from -9223372036854775808 to 9223372036854775807",
        "a whole number from -5 to 5",
        "true or false",
        "one of red, green",
        "a string without NUL",
        "free of x",
    };
    for (size_t i = 0; i < COUNT; i++) {
        CLEANUP_FREE char *allowed = member_allowed(&members[i]);
        assert_string_equal(allowed, expected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_are_taken),
        cmocka_unit_test(values_that_are_refused),
        cmocka_unit_test(values_from_text),
        cmocka_unit_test(whole_documents),
        cmocka_unit_test(sentences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
