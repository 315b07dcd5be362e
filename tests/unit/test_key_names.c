/* Names of keys, and the keys of characters on a US keyboard. */
#include "unit.h"

#include <linux/input-event-codes.h>
#include <stdio.h>
#include <string.h>

#include "display/scancode.h"
#include "protocol/key_names.h"

static void every_printable_character_has_its_key(void **state)
{
    (void)state;
    bool seen[2][256] = {{false}};
    for (uint32_t c = ' '; c < 0x7f; c++) {
        struct key_chord chord;
        assert_true(keys_from_character(c, &chord));
        bool shift = chord.modifiers == MODIFIER_SHIFT;
        assert_true(shift || chord.modifiers == 0);
        assert_false(seen[shift][chord.key]); /* no two characters on one press */
        seen[shift][chord.key] = true;
        assert_int_not_equal(scancode_of(chord.key), 0);
    }
}

/* Spot checks against the codes of linux/input-event-codes.h. */
static void characters_are_where_they_belong(void **state)
{
    (void)state;
    static const struct {
        uint32_t character;
        uint16_t key;
        bool shift;
    } cases[] = {
        {'a', KEY_A, false},         {'Z', KEY_Z, true},           {'0', KEY_0, false},
        {')', KEY_0, true},          {'!', KEY_1, true},           {'^', KEY_6, true},
        {'-', KEY_MINUS, false},     {'_', KEY_MINUS, true},       {'=', KEY_EQUAL, false},
        {'+', KEY_EQUAL, true},      {'[', KEY_LEFTBRACE, false},  {'}', KEY_RIGHTBRACE, true},
        {';', KEY_SEMICOLON, false}, {'"', KEY_APOSTROPHE, true},  {'`', KEY_GRAVE, false},
        {'~', KEY_GRAVE, true},      {'\\', KEY_BACKSLASH, false}, {'|', KEY_BACKSLASH, true},
        {',', KEY_COMMA, false},     {'>', KEY_DOT, true},         {'/', KEY_SLASH, false},
        {'?', KEY_SLASH, true},      {' ', KEY_SPACE, false},      {'\n', KEY_ENTER, false},
        {'\t', KEY_TAB, false},      {'m', KEY_M, false},          {'P', KEY_P, true},
        {'L', KEY_L, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct key_chord chord;
        assert_true(keys_from_character(cases[i].character, &chord));
        assert_int_equal(chord.key, cases[i].key);
        assert_int_equal(chord.modifiers, cases[i].shift ? MODIFIER_SHIFT : 0);
    }
    const uint32_t none[] = {0, 1, '\r', '\b', 0x1b, 0x7f, 0x80, 0xa0, 0xe9, 0x20ac, 0x1f600, 0x10ffff};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct key_chord chord;
        assert_false(keys_from_character(none[i], &chord));
    }
}

static void names_and_chords(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint16_t key;
        unsigned modifiers;
    } cases[] = {
        {"Return", KEY_ENTER, 0},
        {"enter", KEY_ENTER, 0},
        {"ESCAPE", KEY_ESC, 0},
        {"Esc", KEY_ESC, 0},
        {"ArrowUp", KEY_UP, 0},
        {"Page_Down", KEY_PAGEDOWN, 0},
        {"pgdn", KEY_PAGEDOWN, 0},
        {"F1", KEY_F1, 0},
        {"f12", KEY_F12, 0},
        {"a", KEY_A, 0},
        {"A", KEY_A, MODIFIER_SHIFT},
        {"+", KEY_EQUAL, MODIFIER_SHIFT},
        {"plus", KEY_EQUAL, MODIFIER_SHIFT},
        {"minus", KEY_MINUS, 0},
        {"ctrl++", KEY_EQUAL, MODIFIER_CTRL | MODIFIER_SHIFT},
        {"ctrl+plus", KEY_EQUAL, MODIFIER_CTRL | MODIFIER_SHIFT},
        {"ctrl+-", KEY_MINUS, MODIFIER_CTRL},
        {"ctrl+s", KEY_S, MODIFIER_CTRL},
        {"Ctrl+S", KEY_S, MODIFIER_CTRL},
        {"shift+S", KEY_S, MODIFIER_SHIFT},
        {"ctrl+shift+t", KEY_T, MODIFIER_CTRL | MODIFIER_SHIFT},
        {"Control+Alt+Delete", KEY_DELETE, MODIFIER_CTRL | MODIFIER_ALT},
        {"option+Left", KEY_LEFT, MODIFIER_ALT},
        {"cmd+l", KEY_L, MODIFIER_SUPER},
        {"win", 0, MODIFIER_SUPER},
        {"ctrl+shift", 0, MODIFIER_CTRL | MODIFIER_SHIFT},
        {"space", KEY_SPACE, 0},
        {" ", KEY_SPACE, 0},
        {"Shift_R", KEY_RIGHTSHIFT, 0},
        {"KP_Enter", KEY_KPENTER, 0},
        {"asciitilde", KEY_GRAVE, MODIFIER_SHIFT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct key_chord chord = {.modifiers = 99, .key = 99};
        struct error err = ERROR_INIT;
        assert_int_equal(keys_parse(cases[i].name, &chord, &err), 0);
        assert_int_equal(chord.key, cases[i].key);
        assert_int_equal(chord.modifiers, cases[i].modifiers);
        if (chord.key)
            assert_int_not_equal(scancode_of(chord.key), 0);
    }
}

static void what_is_no_key(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum error_code code;
    } cases[] = {
        {"", ERROR_BAD_REQUEST},
        {"Retrun", ERROR_BAD_REQUEST},
        {"ctrl+", ERROR_BAD_REQUEST},
        {"+a", ERROR_BAD_REQUEST},
        {"++", ERROR_BAD_REQUEST},
        {"a+b", ERROR_BAD_REQUEST},
        {"ctrl++a", ERROR_BAD_REQUEST},
        {"+ctrl+a", ERROR_BAD_REQUEST},
        {"ctrl+ s", ERROR_BAD_REQUEST},
        {"F25", ERROR_BAD_REQUEST},
        {"F13", ERROR_UNTYPABLE},
        {"f24", ERROR_UNTYPABLE},
        {"KP_5", ERROR_UNTYPABLE},
        {"\xc3\xa9", ERROR_UNTYPABLE},
        {"ctrl+\xe2\x82\xac", ERROR_UNTYPABLE},
        {"\xff", ERROR_BAD_REQUEST},
        {"\x01", ERROR_UNTYPABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct key_chord chord = {.modifiers = 7, .key = 7};
        struct error err = ERROR_INIT;
        assert_int_equal(keys_parse(cases[i].name, &chord, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_int_equal(chord.key, 7);
    }
    char longest[KEYS_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct key_chord chord;
    struct error err = ERROR_INIT;
    assert_int_equal(keys_parse(longest, &chord, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
}

/* QEMU's codes of keys outside the first 88 (RFB extended key event: XT set 1, bit 7 for the 0xe0 prefix). */
static void scancodes(void **state)
{
    (void)state;
    assert_int_equal(scancode_of(KEY_A), 0x1e);
    assert_int_equal(scancode_of(KEY_LEFTSHIFT), 0x2a);
    assert_int_equal(scancode_of(KEY_F12), 0x58);
    assert_int_equal(scancode_of(KEY_UP), 0xc8);
    assert_int_equal(scancode_of(KEY_DELETE), 0xd3);
    assert_int_equal(scancode_of(KEY_LEFTMETA), 0xdb);
    assert_int_equal(scancode_of(KEY_RIGHTALT), 0xb8);
    assert_int_equal(scancode_of(KEY_KPENTER), 0x9c);
    assert_int_equal(scancode_of(0), 0);
    assert_int_equal(scancode_of(KEY_F13), 0);
    assert_int_equal(scancode_of(KEY_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_printable_character_has_its_key),
        cmocka_unit_test(characters_are_where_they_belong),
        cmocka_unit_test(names_and_chords),
        cmocka_unit_test(what_is_no_key),
        cmocka_unit_test(scancodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
