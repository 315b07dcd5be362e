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

/* Keys by name. A key code of 0 is a key that people know and that cannot be entered exactly. */
static const struct {
    const char *name;
    uint16_t key;
    bool shift;
} names[] = {
    {"Return", KEY_ENTER, false},
    {"Enter", KEY_ENTER, false},
    {"Linefeed", KEY_ENTER, false},
    {"Escape", KEY_ESC, false},
    {"Esc", KEY_ESC, false},
    {"Tab", KEY_TAB, false},
    {"ISO_Left_Tab", KEY_TAB, true},
    {"BackSpace", KEY_BACKSPACE, false},
    {"Back_Space", KEY_BACKSPACE, false},
    {"Delete", KEY_DELETE, false},
    {"Del", KEY_DELETE, false},
    {"Insert", KEY_INSERT, false},
    {"Ins", KEY_INSERT, false},
    {"Home", KEY_HOME, false},
    {"End", KEY_END, false},
    {"Up", KEY_UP, false},
    {"ArrowUp", KEY_UP, false},
    {"Down", KEY_DOWN, false},
    {"ArrowDown", KEY_DOWN, false},
    {"Left", KEY_LEFT, false},
    {"ArrowLeft", KEY_LEFT, false},
    {"Right", KEY_RIGHT, false},
    {"ArrowRight", KEY_RIGHT, false},
    {"Page_Up", KEY_PAGEUP, false},
    {"PageUp", KEY_PAGEUP, false},
    {"pgup", KEY_PAGEUP, false},
    {"Prior", KEY_PAGEUP, false},
    {"Page_Down", KEY_PAGEDOWN, false},
    {"PageDown", KEY_PAGEDOWN, false},
    {"pgdn", KEY_PAGEDOWN, false},
    {"Next", KEY_PAGEDOWN, false},
    {"Menu", KEY_COMPOSE, false},
    {"ContextMenu", KEY_COMPOSE, false},
    {"Print", KEY_SYSRQ, false},
    {"PrintScreen", KEY_SYSRQ, false},
    {"Pause", KEY_PAUSE, false},
    {"Break", KEY_PAUSE, false},
    {"Caps_Lock", KEY_CAPSLOCK, false},
    {"CapsLock", KEY_CAPSLOCK, false},
    {"Num_Lock", KEY_NUMLOCK, false},
    {"NumLock", KEY_NUMLOCK, false},
    {"Scroll_Lock", KEY_SCROLLLOCK, false},
    {"ScrollLock", KEY_SCROLLLOCK, false},
    {"Control_R", KEY_RIGHTCTRL, false},
    {"ControlRight", KEY_RIGHTCTRL, false},
    {"Shift_R", KEY_RIGHTSHIFT, false},
    {"ShiftRight", KEY_RIGHTSHIFT, false},
    {"Alt_R", KEY_RIGHTALT, false},
    {"AltRight", KEY_RIGHTALT, false},
    {"AltGr", KEY_RIGHTALT, false},
    {"ISO_Level3_Shift", KEY_RIGHTALT, false},
    {"Super_R", KEY_RIGHTMETA, false},
    {"Meta_R", KEY_RIGHTMETA, false},
    {"MetaRight", KEY_RIGHTMETA, false},
    {"F1", KEY_F1, false},
    {"F2", KEY_F2, false},
    {"F3", KEY_F3, false},
    {"F4", KEY_F4, false},
    {"F5", KEY_F5, false},
    {"F6", KEY_F6, false},
    {"F7", KEY_F7, false},
    {"F8", KEY_F8, false},
    {"F9", KEY_F9, false},
    {"F10", KEY_F10, false},
    {"F11", KEY_F11, false},
    {"F12", KEY_F12, false},
    {"F13", 0, false},
    {"F14", 0, false},
    {"F15", 0, false},
    {"F16", 0, false},
    {"F17", 0, false},
    {"F18", 0, false},
    {"F19", 0, false},
    {"F20", 0, false},
    {"F21", 0, false},
    {"F22", 0, false},
    {"F23", 0, false},
    {"F24", 0, false},
    {"KP_Enter", KEY_KPENTER, false},
    {"KP_Add", KEY_KPPLUS, false},
    {"KP_Subtract", KEY_KPMINUS, false},
    {"KP_Multiply", KEY_KPASTERISK, false},
    {"KP_Divide", KEY_KPSLASH, false},
    /* What these make depends on Num Lock, which QEMU presses by itself to suit what it guesses. */
    {"KP_0", 0, false},
    {"KP_1", 0, false},
    {"KP_2", 0, false},
    {"KP_3", 0, false},
    {"KP_4", 0, false},
    {"KP_5", 0, false},
    {"KP_6", 0, false},
    {"KP_7", 0, false},
    {"KP_8", 0, false},
    {"KP_9", 0, false},
    {"KP_Decimal", 0, false},
    {"XF86AudioMute", KEY_MUTE, false},
    {"XF86AudioLowerVolume", KEY_VOLUMEDOWN, false},
    {"XF86AudioRaiseVolume", KEY_VOLUMEUP, false},
    {"XF86Back", KEY_BACK, false},
    {"BrowserBack", KEY_BACK, false},
    {"XF86Forward", KEY_FORWARD, false},
    {"BrowserForward", KEY_FORWARD, false},
};

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
            return error_set(
                err, ERROR_BAD_REQUEST,
                "\"%.*s\" is no modifier; a chord is ctrl, alt, shift or super joined by \"+\" to "
                "one key, as \"ctrl+shift+t\"",
                (int)part, name);
        *found |= modifier;
        more = plus != NULL;
        length -= part + more;
        name += part + more;
    }
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
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(names[i].name, name) != 0)
            continue;
        if (!names[i].key)
            return error_set(
                err, ERROR_UNTYPABLE,
                "the key %s cannot be entered exactly: this guest's keyboard has F1 to F12 and no "
                "digits on its keypad",
                names[i].name);
        chord->key = names[i].key;
        chord->modifiers = names[i].shift ? MODIFIER_SHIFT : 0;
        return 0;
    }
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
