#include "protocol/key_names.h"

#include <linux/input-event-codes.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* A row of a US keyboard: neighbouring key codes, what they make alone and with Shift. */
static const struct {
    uint16_t first;
    const char *plain, *shifted;
} rows[] = {
    {KEY_1, "1234567890-=", "!@#$%^&*()_+"},
    {KEY_Q, "qwertyuiop[]", "QWERTYUIOP{}"},
    {KEY_A, "asdfghjkl;'`", "ASDFGHJKL:\"~"},
    {KEY_BACKSLASH, "\\zxcvbnm,./", "|ZXCVBNM<>?"},
};

bool keys_from_character(uint32_t code_point, struct key_chord *chord)
{
    struct key_chord found = {.modifiers = 0, .key = 0};
    if (code_point == ' ')
        found.key = KEY_SPACE;
    else if (code_point == '\n')
        found.key = KEY_ENTER;
    else if (code_point == '\t')
        found.key = KEY_TAB;
    else if (code_point > ' ' && code_point < 0x7f)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !found.key; i++) {
            const char *plain = strchr(rows[i].plain, (int)code_point);
            const char *shifted = strchr(rows[i].shifted, (int)code_point);
            if (plain)
                found.key = (uint16_t)(rows[i].first + (plain - rows[i].plain));
            if (shifted) {
                found.key = (uint16_t)(rows[i].first + (shifted - rows[i].shifted));
                found.modifiers = MODIFIER_SHIFT;
            }
        }
    if (!found.key)
        return false;
    *chord = found;
    return true;
}

static const struct {
    const char *name;
    enum key_modifier modifier;
} modifiers[] = {
    {"ctrl", MODIFIER_CTRL},        {"control", MODIFIER_CTRL},    {"Control_L", MODIFIER_CTRL},
    {"ControlLeft", MODIFIER_CTRL}, {"alt", MODIFIER_ALT},         {"Alt_L", MODIFIER_ALT},
    {"AltLeft", MODIFIER_ALT},      {"option", MODIFIER_ALT},      {"shift", MODIFIER_SHIFT},
    {"Shift_L", MODIFIER_SHIFT},    {"ShiftLeft", MODIFIER_SHIFT}, {"super", MODIFIER_SUPER},
    {"Super_L", MODIFIER_SUPER},    {"meta", MODIFIER_SUPER},      {"Meta_L", MODIFIER_SUPER},
    {"MetaLeft", MODIFIER_SUPER},   {"cmd", MODIFIER_SUPER},       {"command", MODIFIER_SUPER},
    {"win", MODIFIER_SUPER},        {"windows", MODIFIER_SUPER},
};

/* Keys, each with its names. */
static const struct {
    uint16_t key;
    const char *names[4];
} keys[] = {
    {KEY_ENTER, {"Return", "Enter", "Linefeed"}},
    {KEY_ESC, {"Escape", "Esc"}},
    {KEY_TAB, {"Tab"}},
    {KEY_BACKSPACE, {"BackSpace", "Back_Space"}},
    {KEY_DELETE, {"Delete", "Del"}},
    {KEY_INSERT, {"Insert", "Ins"}},
    {KEY_HOME, {"Home"}},
    {KEY_END, {"End"}},
    {KEY_UP, {"Up", "ArrowUp"}},
    {KEY_DOWN, {"Down", "ArrowDown"}},
    {KEY_LEFT, {"Left", "ArrowLeft"}},
    {KEY_RIGHT, {"Right", "ArrowRight"}},
    {KEY_PAGEUP, {"Page_Up", "PageUp", "pgup", "Prior"}},
    {KEY_PAGEDOWN, {"Page_Down", "PageDown", "pgdn", "Next"}},
    {KEY_COMPOSE, {"Menu", "ContextMenu"}},
    {KEY_SYSRQ, {"Print", "PrintScreen"}},
    {KEY_PAUSE, {"Pause", "Break"}},
    {KEY_CAPSLOCK, {"Caps_Lock", "CapsLock"}},
    {KEY_NUMLOCK, {"Num_Lock", "NumLock"}},
    {KEY_SCROLLLOCK, {"Scroll_Lock", "ScrollLock"}},
    {KEY_RIGHTCTRL, {"Control_R", "ControlRight"}},
    {KEY_RIGHTSHIFT, {"Shift_R", "ShiftRight"}},
    {KEY_RIGHTALT, {"Alt_R", "AltRight", "AltGr", "ISO_Level3_Shift"}},
    {KEY_RIGHTMETA, {"Super_R", "Meta_R", "MetaRight"}},
    {KEY_F1, {"F1"}},
    {KEY_F2, {"F2"}},
    {KEY_F3, {"F3"}},
    {KEY_F4, {"F4"}},
    {KEY_F5, {"F5"}},
    {KEY_F6, {"F6"}},
    {KEY_F7, {"F7"}},
    {KEY_F8, {"F8"}},
    {KEY_F9, {"F9"}},
    {KEY_F10, {"F10"}},
    {KEY_F11, {"F11"}},
    {KEY_F12, {"F12"}},
    {KEY_KPENTER, {"KP_Enter"}},
    {KEY_KPPLUS, {"KP_Add"}},
    {KEY_KPMINUS, {"KP_Subtract"}},
    {KEY_KPASTERISK, {"KP_Multiply"}},
    {KEY_KPSLASH, {"KP_Divide"}},
    {KEY_MUTE, {"XF86AudioMute"}},
    {KEY_VOLUMEDOWN, {"XF86AudioLowerVolume"}},
    {KEY_VOLUMEUP, {"XF86AudioRaiseVolume"}},
    {KEY_BACK, {"XF86Back", "BrowserBack"}},
    {KEY_FORWARD, {"XF86Forward", "BrowserForward"}},
};

/* Keys that people know and that cannot be entered exactly. What those of the keypad make depends on Num
 * Lock, which QEMU presses by itself to suit what it guesses. */
static const char *const inexact[] = {"F13",  "F14",  "F15",  "F16",  "F17",  "F18",  "F19",       "F20",
                                      "F21",  "F22",  "F23",  "F24",  "KP_0", "KP_1", "KP_2",      "KP_3",
                                      "KP_4", "KP_5", "KP_6", "KP_7", "KP_8", "KP_9", "KP_Decimal"};

/* Characters by name. */
static const struct {
    const char *name;
    char character;
} symbols[] = {
    {"space", ' '},      {"spacebar", ' '},     {"exclam", '!'},      {"quotedbl", '"'},
    {"numbersign", '#'}, {"hash", '#'},         {"dollar", '$'},      {"percent", '%'},
    {"ampersand", '&'},  {"apostrophe", '\''},  {"quoteright", '\''}, {"quote", '\''},
    {"parenleft", '('},  {"parenright", ')'},   {"asterisk", '*'},    {"plus", '+'},
    {"comma", ','},      {"minus", '-'},        {"dash", '-'},        {"hyphen", '-'},
    {"period", '.'},     {"dot", '.'},          {"slash", '/'},       {"colon", ':'},
    {"semicolon", ';'},  {"less", '<'},         {"equal", '='},       {"equals", '='},
    {"greater", '>'},    {"question", '?'},     {"at", '@'},          {"bracketleft", '['},
    {"backslash", '\\'}, {"bracketright", ']'}, {"asciicircum", '^'}, {"caret", '^'},
    {"underscore", '_'}, {"grave", '`'},        {"quoteleft", '`'},   {"backquote", '`'},
    {"backtick", '`'},   {"braceleft", '{'},    {"bar", '|'},         {"pipe", '|'},
    {"braceright", '}'}, {"asciitilde", '~'},   {"tilde", '~'},
};

unsigned keys_modifier(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof modifiers / sizeof modifiers[0]; i++)
        if (strlen(modifiers[i].name) == length && strncasecmp(modifiers[i].name, name, length) == 0)
            return modifiers[i].modifier;
    return 0;
}

uint16_t keys_of_modifier(enum key_modifier modifier)
{
    switch (modifier) {
    case MODIFIER_SHIFT:
        return KEY_LEFTSHIFT;
    case MODIFIER_CTRL:
        return KEY_LEFTCTRL;
    case MODIFIER_ALT:
        return KEY_LEFTALT;
    case MODIFIER_SUPER:
        return KEY_LEFTMETA;
    }
    return 0;
}

/* Reads the modifiers in front of the last key: "ctrl+shift+". */
static int parse_modifiers(const char *name, size_t length, unsigned *found, struct error *err)
{
    for (bool more = true; more;) {
        const char *plus = memchr(name, '+', length);
        size_t part = plus ? (size_t)(plus - name) : length;
        unsigned modifier = keys_modifier(name, part);
        if (!modifier)
            return error_set(err, ERROR_BAD_REQUEST,
                             "\"%.*s\" is no modifier; a chord is ctrl, alt, shift or super joined by \"+\" "
                             "to one key, as \"ctrl+shift+t\"",
                             (int)part, name);
        *found |= modifier;
        more = plus != NULL;
        length -= part + more;
        name += part + more;
    }
    return 0;
}

/* The key of a name; 0 for none. */
static uint16_t find_named_key(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        for (size_t n = 0; n < sizeof keys[i].names / sizeof keys[i].names[0] && keys[i].names[n]; n++)
            if (strcasecmp(keys[i].names[n], name) == 0)
                return keys[i].key;
    return 0;
}

/* The one key of a chord, by character or name. */
static int parse_key(const char *name, struct key_chord *chord, struct error *err)
{
    uint32_t code_point;
    size_t size = strlen(name);
    if (size > 0 && text_decode(name, size, &code_point) == size) {
        if (keys_from_character(code_point, chord))
            return 0;
        return error_set(err, ERROR_UNTYPABLE,
                         "the character U+%04X is on no key of the guest's keyboard (US layout)",
                         (unsigned)code_point);
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (strcasecmp(symbols[i].name, name) == 0) {
            keys_from_character((unsigned char)symbols[i].character, chord);
            return 0;
        }
    chord->modifiers = strcasecmp(name, "ISO_Left_Tab") == 0 ? MODIFIER_SHIFT : 0;
    chord->key = find_named_key(chord->modifiers ? "Tab" : name);
    if (chord->key)
        return 0;
    for (size_t i = 0; i < sizeof inexact / sizeof inexact[0]; i++)
        if (strcasecmp(inexact[i], name) == 0)
            return error_set(err, ERROR_UNTYPABLE,
                             "the key %s cannot be entered exactly: this guest's keyboard has F1 to F12 and "
                             "no digits on its keypad",
                             inexact[i]);
    return error_set(err, ERROR_BAD_REQUEST,
                     "no key is named \"%s\"; keys are single characters or names as Return, Escape, Tab, "
                     "ArrowUp, Page_Down, F5, with \"+\" between modifiers and the key, as \"ctrl+s\"",
                     name);
}

int keys_parse(const char *name, struct key_chord *chord, struct error *err)
{
    size_t length = strlen(name);
    if (length == 0 || length > KEYS_NAME_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "the name of a key has 1 to %d bytes", KEYS_NAME_MAX);

    /* A plus at the end is the plus key; any other one separates. */
    size_t start = length;
    if (name[length - 1] == '+')
        start = length - 1;
    else
        while (start > 0 && name[start - 1] != '+')
            start--;
    if (start > 0 && name[start - 1] != '+')
        return error_set(err, ERROR_BAD_REQUEST,
                         "the chord \"%s\" ends with a separator; the plus key is \"plus\" or \"ctrl++\"",
                         name);

    unsigned held = 0;
    if (start > 1 && parse_modifiers(name, start - 1, &held, err) < 0)
        return -1;
    if (start == 1)
        return error_set(err, ERROR_BAD_REQUEST, "the chord \"%s\" begins with a separator", name);

    struct key_chord key = {.modifiers = 0, .key = 0};
    unsigned alone = keys_modifier(name + start, length - start);
    if (!alone && parse_key(name + start, &key, err) < 0)
        return -1;
    bool is_letter = length - start == 1 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", name[start]);
    if (is_letter && (held & (MODIFIER_CTRL | MODIFIER_ALT | MODIFIER_SUPER)))
        key.modifiers = 0;
    chord->key = key.key;
    chord->modifiers = key.modifiers | held | alone;
    return 0;
}
