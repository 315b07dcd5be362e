/* Wrapping, cleaning, durations and sizes. */
#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "layout.h"

static void same(char *made, const char *wanted)
{
    CLEANUP_FREE char *owned = made;
    assert_string_equal(owned, wanted);
}

static void test_clean(void **state)
{
    (void)state;
    same(layout_clean(""), "");
    same(layout_clean("plain é 漢"), "plain é 漢");
    same(layout_clean("a\033[31mb\r\n\tc\x7f"), "a?[31mb???c?");
    /* U+009B is CSI in one character; a byte of a cut-off sequence is none at all */
    same(layout_clean("a\xc2\x9b"
                      "b"),
         "a?b");
    same(layout_clean("a\xe2\x82"), "a??");
    same(layout_clean("\xff\xfe"), "??");
    same(layout_clean("\xc0\xaf"), "??");
}

static void test_wrap(void **state)
{
    (void)state;
    same(layout_wrap("one two three", 0, 0), "one two three");
    same(layout_wrap("one two three", 0, 7), "one two\nthree");
    same(layout_wrap("one two three", 0, 6), "one\ntwo\nthree");
    same(layout_wrap("one two three", 2, 9), "one two\n  three");
    same(layout_wrap("", 4, 20), "");
    /* what does not fit stays whole, for it may be a path to copy */
    same(layout_wrap("a /very/long/path b", 2, 6), "a\n  /very/long/path\n  b");
    /* columns are characters, not bytes */
    same(layout_wrap("éé éé", 0, 5), "éé éé");
    same(layout_wrap("éé éé", 0, 4), "éé\néé");
}

static void test_every_line_fits(void **state)
{
    (void)state;
    static const char text[] =
        "accel is tcg: guests run in software emulation, many times slower than with KVM; "
        "this is for development and private intent alone";
    for (size_t width = 40; width < 120; width++) {
        CLEANUP_FREE char *wrapped = layout_wrap(text, 22, width);
        size_t column = 22;
        for (const char *c = wrapped; *c; c++) {
            column = *c == '\n' ? 0 : column + 1;
            assert_true(column <= width);
        }
        size_t letters = 0, spaces = 0;
        for (const char *c = wrapped; *c; c++)
            *c == ' ' || *c == '\n' ? spaces++ : letters++;
        size_t wanted = 0;
        for (const char *c = text; *c; c++)
            wanted += *c != ' ';
        assert_int_equal(letters, wanted);
    }
}

static void test_duration(void **state)
{
    (void)state;
    same(layout_duration(-5), "0 s");
    same(layout_duration(0), "0 s");
    same(layout_duration(59), "59 s");
    same(layout_duration(60), "1 min");
    same(layout_duration(725), "12 min 5 s");
    same(layout_duration(3600), "1 h");
    same(layout_duration(12000), "3 h 20 min");
    same(layout_duration(3601), "1 h");
    same(layout_duration(187200), "2 d 4 h");
}

static void test_size(void **state)
{
    (void)state;
    same(layout_size(0), "0 bytes");
    same(layout_size(1023), "1023 bytes");
    same(layout_size(1536), "1.5 KiB");
    same(layout_size(700ull << 20), "700 MiB");
    same(layout_size(40ull << 30), "40 GiB");
    same(layout_size(UINT64_MAX), "16777216 TiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),    cmocka_unit_test(test_wrap), cmocka_unit_test(test_every_line_fits),
        cmocka_unit_test(test_duration), cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
