#include "text.h"

#include <linux/input-event-codes.h>
#include <string.h>

struct symbols {
    char plain, shifted;
};

/* The US layout (ANSI INCITS 154), by Linux key code. KEY_102ND as X's "us" has it. */
static const struct symbols layout[TEXT_KEY_MAX] = {
    [KEY_GRAVE] = {'`', '~'},       [KEY_1] = {'1', '!'},          [KEY_2] = {'2', '@'},
    [KEY_3] = {'3', '#'},           [KEY_4] = {'4', '$'},          [KEY_5] = {'5', '%'},
    [KEY_6] = {'6', '^'},           [KEY_7] = {'7', '&'},          [KEY_8] = {'8', '*'},
    [KEY_9] = {'9', '('},           [KEY_0] = {'0', ')'},          [KEY_MINUS] = {'-', '_'},
    [KEY_EQUAL] = {'=', '+'},       [KEY_Q] = {'q', 'Q'},          [KEY_W] = {'w', 'W'},
    [KEY_E] = {'e', 'E'},           [KEY_R] = {'r', 'R'},          [KEY_T] = {'t', 'T'},
    [KEY_Y] = {'y', 'Y'},           [KEY_U] = {'u', 'U'},          [KEY_I] = {'i', 'I'},
    [KEY_O] = {'o', 'O'},           [KEY_P] = {'p', 'P'},          [KEY_LEFTBRACE] = {'[', '{'},
    [KEY_RIGHTBRACE] = {']', '}'},  [KEY_BACKSLASH] = {'\\', '|'}, [KEY_A] = {'a', 'A'},
    [KEY_S] = {'s', 'S'},           [KEY_D] = {'d', 'D'},          [KEY_F] = {'f', 'F'},
    [KEY_G] = {'g', 'G'},           [KEY_H] = {'h', 'H'},          [KEY_J] = {'j', 'J'},
    [KEY_K] = {'k', 'K'},           [KEY_L] = {'l', 'L'},          [KEY_SEMICOLON] = {';', ':'},
    [KEY_APOSTROPHE] = {'\'', '"'}, [KEY_Z] = {'z', 'Z'},          [KEY_X] = {'x', 'X'},
    [KEY_C] = {'c', 'C'},           [KEY_V] = {'v', 'V'},          [KEY_B] = {'b', 'B'},
    [KEY_N] = {'n', 'N'},           [KEY_M] = {'m', 'M'},          [KEY_COMMA] = {',', '<'},
    [KEY_DOT] = {'.', '>'},         [KEY_SLASH] = {'/', '?'},      [KEY_SPACE] = {' ', ' '},
    [KEY_102ND] = {'<', '>'},       [KEY_ENTER] = {'\n', '\n'},    [KEY_KPENTER] = {'\n', '\n'},
    [KEY_TAB] = {'\t', 0},
};

static bool is_letter(char symbol)
{
    return symbol >= 'a' && symbol <= 'z';
}

bool text_key(struct text *text, uint16_t code, int32_t value)
{
    const bool *down = text->down;
    bool shift;
    char symbol;

    if (code >= TEXT_KEY_MAX)
        return false;
    text->down[code] = value != 0;
    if (code == KEY_CAPSLOCK && value == 1)
        text->caps_lock = !text->caps_lock;
    if (value == 0 || down[KEY_LEFTCTRL] || down[KEY_RIGHTCTRL] || down[KEY_LEFTALT] || down[KEY_RIGHTALT] ||
        down[KEY_LEFTMETA] || down[KEY_RIGHTMETA])
        return false;
    if (code == KEY_BACKSPACE && text->length > 0) {
        text->length--;
        return true;
    }
    shift = down[KEY_LEFTSHIFT] || down[KEY_RIGHTSHIFT];
    if (text->caps_lock && is_letter(layout[code].plain))
        shift = !shift;
    symbol = shift ? layout[code].shifted : layout[code].plain;
    if (symbol == 0 || text->length == TEXT_MAX)
        return false;
    text->bytes[text->length++] = symbol;
    return true;
}

bool text_insert(struct text *text, const char *bytes, size_t size)
{
    if (size > TEXT_MAX - text->length)
        return false;
    memcpy(text->bytes + text->length, bytes, size);
    text->length += size;
    return true;
}

void text_reset(struct text *text)
{
    text->length = 0;
    text->caps_lock = false;
}
