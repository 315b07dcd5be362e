/* base/text.h: UTF-8 as RFC 3629 has it, numbers without surprises, texts that grow. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static void decodes_the_edges(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        uint32_t code_point;
    } cases[] = {
        {"A", 1, 0x41},
        {"\x7f", 1, 0x7f},
        {"\xc2\x80", 2, 0x80},
        {"\xdf\xbf", 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 0x800},
        {"\xed\x9f\xbf", 3, 0xd7ff},
        {"\xee\x80\x80", 3, 0xe000},
        {"\xef\xbf\xbf", 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t code_point = 0;
        assert_int_equal(text_decode(cases[i].bytes, cases[i].length, &code_point), cases[i].length);
        assert_int_equal(code_point, cases[i].code_point);
        /* a byte short is nothing, not something shorter */
        if (cases[i].length > 1)
            assert_int_equal(text_decode(cases[i].bytes, cases[i].length - 1, &code_point), 0);
    }
    uint32_t code_point = 7;
    assert_int_equal(text_decode("", 0, &code_point), 0);
    assert_int_equal(text_decode("\0", 1, &code_point), 1);
    assert_int_equal(code_point, 0);
}

static void refuses_what_is_not_utf8(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\x80", /* a continuation alone */
        "\xbf\x80",
        "\xc0\x80", /* overlong NUL */
        "\xc1\xbf",
        "\xe0\x9f\xbf",     /* overlong in three */
        "\xf0\x8f\xbf\xbf", /* overlong in four */
        "\xed\xa0\x80",
        "\xed\xbf\xbf",     /* surrogates */
        "\xf4\x90\x80\x80", /* over U+10FFFF */
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xfe",
        "\xff",
        "\xc3\x28",
        "\xe2\x28\xa1",
        "\xe2\x82\x28",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint32_t code_point = 7;
        if (text_decode(texts[i], strlen(texts[i]), &code_point) != 0)
            fail_msg("case %zu gave U+%04X", i, code_point);
    }
}

static void integers(void **state)
{
    (void)state;
    int64_t value = 0;
    assert_true(text_to_integer("9223372036854775807", INT64_MIN, INT64_MAX, &value));
    assert_true(value == INT64_MAX);
    assert_true(text_to_integer("-9223372036854775808", INT64_MIN, INT64_MAX, &value));
    assert_true(value == INT64_MIN);
    assert_true(text_to_integer("007", 0, 10, &value));
    assert_int_equal(value, 7);
    static const char *const refused[] = {
        "", "-", "+1", " 1", "1 ", "1\n", "0x1", "1e3", "1.0", "--1", "11", "-1", "9223372036854775808"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        value = 42;
        if (text_to_integer(refused[i], 0, 10, &value))
            fail_msg("\"%s\" was accepted", refused[i]);
        assert_int_equal(value, 42);
    }
}

static void hex(void **state)
{
    (void)state;
    char out[9] = "xxxxxxxx";
    text_hex("\x00\x7f\xff", 3, out);
    assert_string_equal(out, "007fffxx"); /* no terminator */
    assert_true(text_is_hex("00ff", 4));
    assert_false(text_is_hex("00FF", 4));
    assert_false(text_is_hex("00ff", 5));
    assert_false(text_is_hex("00ff0", 4));
    assert_false(text_is_hex("00fg", 4));
    assert_true(text_is_hex("", 0));
}

static void prefixes_and_copies(void **state)
{
    (void)state;
    CLEANUP_FREE char *formatted = text_format("%s-%03d", "a", 7);
    CLEANUP_FREE char *copy = text_copy(formatted);
    assert_string_equal(copy, "a-007");
    assert_ptr_not_equal(copy, formatted);
    assert_null(text_copy(NULL));
    assert_true(text_starts("qemu:///system", "qemu://"));
    assert_true(text_starts("a", ""));
    assert_false(text_starts("qem", "qemu"));
}

static void growing(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text_buffer buffer = {0};
    assert_null(buffer.text);
    assert_true(text_add(&buffer, NULL, 0));
    assert_string_equal(buffer.text, "");
    for (int i = 0; i < 1000; i++) {
        assert_true(text_add(&buffer, "a\0b", 3));
        text_append(&buffer, "%03d", i);
    }
    assert_int_equal(buffer.size, 6000);
    assert_memory_equal(buffer.text, "a\0b000a\0b001", 12);
    assert_memory_equal(buffer.text + 5994, "a\0b999", 7); /* the terminator too */
}

static void lists(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text_buffer list = {0};
    text_join(&list, "; ", "%d", 1);
    assert_string_equal(list.text, "1");
    text_join(&list, "; ", "%s", "two");
    text_join(&list, "; ", "%s", "three");
    assert_string_equal(list.text, "1; two; three");
    CLEANUP_FREE char *none = text_list((const char *const[]){NULL});
    CLEANUP_FREE char *one = text_list((const char *const[]){"a", NULL});
    CLEANUP_FREE char *some = text_list((const char *const[]){"a", "b", "c", NULL});
    assert_string_equal(none, "");
    assert_string_equal(one, "a");
    assert_string_equal(some, "a, b, c");
}

static void outside_text_is_made_fit(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fit;
    } cases[] = {
        {"", ""},
        {"/v1/leases", "/v1/leases"},
        {"\u00e9 \U0001f600", "\u00e9 \U0001f600"},
        {"\xff/x", "\\xff/x"},
        {"\xc3", "\\xc3"},
        {"a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"},
        {"a\u202eb\u2066\u200f", "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6\\xe2\\x80\\x8f"},
        {"\\xff", "\\x5cxff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEANUP_FREE char *fit = text_fit(cases[i].text, 128);
        assert_string_equal(fit, cases[i].fit);
    }
}

static void outside_text_is_cut(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fit;
    } cases[] = {{"12345678", "12345678"},
                 {"123456789", "12345\u2026"},
                 {"1234\xff\xff", "1234\u2026"},
                 {"1234\xff", "1234\\xff"},
                 {"1234567\u00e9", "12345\u2026"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEANUP_FREE char *fit = text_fit(cases[i].text, 8);
        assert_string_equal(fit, cases[i].fit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_the_edges),
        cmocka_unit_test(refuses_what_is_not_utf8),
        cmocka_unit_test(integers),
        cmocka_unit_test(hex),
        cmocka_unit_test(prefixes_and_copies),
        cmocka_unit_test(growing),
        cmocka_unit_test(lists),
        cmocka_unit_test(outside_text_is_made_fit),
        cmocka_unit_test(outside_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
