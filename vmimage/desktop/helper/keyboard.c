#include "keyboard.h"

#include <stdlib.h>
#include <string.h>

#include <xcb/xtest.h>

enum { FIRST_CODE = 8, LAST_CODE = 255, KEYSYM_SHIFT = 0xffe1, MODIFIERS = 8, LOCK_ROW = 1, MOD2_ROW = 4 };

bool keyboard_read(struct keyboard *keyboard)
{
    xcb_get_keyboard_mapping_reply_t *map = xcb_get_keyboard_mapping_reply(
        keyboard->x, xcb_get_keyboard_mapping(keyboard->x, FIRST_CODE, LAST_CODE - FIRST_CODE + 1), NULL);
    if (!map)
        return false;
    const xcb_keysym_t *keysyms = xcb_get_keyboard_mapping_keysyms(map);
    int count = xcb_get_keyboard_mapping_keysyms_length(map), width = map->keysyms_per_keycode;
    memset(keyboard->plain, 0, sizeof keyboard->plain);
    memset(keyboard->shifted, 0, sizeof keyboard->shifted);
    for (int code = FIRST_CODE; code <= LAST_CODE && width > 0; code++) {
        int at = (code - FIRST_CODE) * width;
        if (at < count)
            keyboard->plain[code] = keysyms[at];
        if (width > 1 && at + 1 < count)
            keyboard->shifted[code] = keysyms[at + 1];
    }
    free(map);
    return true;
}

bool keyboard_find(const struct keyboard *keyboard, uint32_t keysym, uint8_t *code, bool *shift)
{
    for (int level = 0; level < 2; level++)
        for (int at = FIRST_CODE; at <= LAST_CODE; at++)
            if ((level ? keyboard->shifted : keyboard->plain)[at] == keysym) {
                *code = (uint8_t)at;
                *shift = level == 1;
                return true;
            }
    return false;
}

static void key(struct keyboard *keyboard, uint8_t code, bool down)
{
    xcb_test_fake_input(keyboard->x, down ? XCB_KEY_PRESS : XCB_KEY_RELEASE, code, XCB_CURRENT_TIME, XCB_NONE,
                        0, 0, 0);
}

/* CapsLock and NumLock are no keys that are held: their rows are left alone. */
void keyboard_lift_modifiers(struct keyboard *keyboard)
{
    xcb_query_keymap_cookie_t down_cookie = xcb_query_keymap(keyboard->x);
    xcb_get_modifier_mapping_cookie_t map_cookie = xcb_get_modifier_mapping(keyboard->x);
    xcb_query_keymap_reply_t *down = xcb_query_keymap_reply(keyboard->x, down_cookie, NULL);
    xcb_get_modifier_mapping_reply_t *map = xcb_get_modifier_mapping_reply(keyboard->x, map_cookie, NULL);
    if (down && map) {
        const uint8_t *codes = xcb_get_modifier_mapping_keycodes(map);
        for (int i = 0; i < MODIFIERS * map->keycodes_per_modifier; i++) {
            int row = i / map->keycodes_per_modifier;
            if (codes[i] && row != LOCK_ROW && row != MOD2_ROW &&
                down->keys[codes[i] / 8] >> codes[i] % 8 & 1)
                key(keyboard, codes[i], false);
        }
    }
    free(down);
    free(map);
}

bool keyboard_tap(struct keyboard *keyboard, uint32_t keysym)
{
    uint8_t code;
    bool shift;
    if (!keyboard_find(keyboard, keysym, &code, &shift) || shift)
        return false;
    key(keyboard, code, true);
    key(keyboard, code, false);
    return true;
}

static bool caps_lock(struct keyboard *keyboard)
{
    xcb_query_pointer_reply_t *state =
        xcb_query_pointer_reply(keyboard->x, xcb_query_pointer(keyboard->x, keyboard->root), NULL);
    bool locked = state && state->mask & XCB_MOD_MASK_LOCK;
    free(state);
    return locked;
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

bool keyboard_enter(struct keyboard *keyboard, const char *text, size_t size)
{
    bool locked = caps_lock(keyboard), held = false, shift, shift_shifted;
    uint8_t code, shift_code;
    if (!keyboard_find(keyboard, KEYSYM_SHIFT, &shift_code, &shift_shifted))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!keyboard_find(keyboard, (uint8_t)text[i], &code, &shift))
            return false;
    for (size_t i = 0; i < size; i++) {
        keyboard_find(keyboard, (uint8_t)text[i], &code, &shift);
        shift ^= locked && is_letter(text[i]);
        if (shift != held)
            key(keyboard, shift_code, shift);
        held = shift;
        key(keyboard, code, true);
        key(keyboard, code, false);
    }
    if (held)
        key(keyboard, shift_code, false);
    return true;
}

void keyboard_click(struct keyboard *keyboard, int16_t x, int16_t y, uint8_t button, int count)
{
    xcb_test_fake_input(keyboard->x, XCB_MOTION_NOTIFY, false, XCB_CURRENT_TIME, keyboard->root, x, y, 0);
    for (; count > 0; count--) {
        xcb_test_fake_input(keyboard->x, XCB_BUTTON_PRESS, button, XCB_CURRENT_TIME, XCB_NONE, 0, 0, 0);
        xcb_test_fake_input(keyboard->x, XCB_BUTTON_RELEASE, button, XCB_CURRENT_TIME, XCB_NONE, 0, 0, 0);
    }
}

bool keyboard_sync(struct keyboard *keyboard)
{
    xcb_get_input_focus_reply_t *reply =
        xcb_get_input_focus_reply(keyboard->x, xcb_get_input_focus(keyboard->x), NULL);
    bool answered = reply != NULL;
    free(reply);
    return answered;
}
