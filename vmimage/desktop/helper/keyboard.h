/*
 * Keys and pointer through the X server's XTEST extension: what is pressed here is for every program a key of
 * the keyboard, in order with all others.
 */
#ifndef HELPER_KEYBOARD_H
#define HELPER_KEYBOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xcb/xcb.h>

enum { KEYSYM_TAB = 0xff09, KEYSYM_RETURN = 0xff0d };

/* A keyboard map as it is now: the static one of the image, unless the tenant loaded another. */
struct keyboard {
    xcb_connection_t *x; /* borrowed */
    xcb_window_t root;
    uint8_t first;                     /* key code of the first row */
    uint32_t plain[256], shifted[256]; /* keysyms by key code */
};

/* Reads the map. False when the X server does not answer. */
bool keyboard_read(struct keyboard *keyboard);

/*
 * Lifts the modifier keys that are down (a viewer's Ctrl, say), so that what follows is typed and not
 * commanded. They stay up: their owner's own release is then one of a key that is up already.
 */
void keyboard_lift_modifiers(struct keyboard *keyboard);

/* Whether this character is on the keyboard, and how: its key code, and whether with Shift. */
bool keyboard_find(const struct keyboard *keyboard, uint32_t keysym, uint8_t *code, bool *shift);

/* Presses and releases the key with this keysym. False when there is none. */
bool keyboard_tap(struct keyboard *keyboard, uint32_t keysym);

/* Enters printable ASCII by its keys, CapsLock made up for. False when a character has no key. */
bool keyboard_enter(struct keyboard *keyboard, const char *text, size_t size);

/* Moves the pointer to x, y and presses and releases a button (X's numbers) so many times. */
void keyboard_click(struct keyboard *keyboard, int16_t x, int16_t y, uint8_t button, int count);

/* Returns when the X server has done all of it. */
bool keyboard_sync(struct keyboard *keyboard);

#endif
