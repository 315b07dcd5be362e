/*
 * Names of keys, and the key that makes a character on a US keyboard: the layout that the guest images
 * declare. Key codes are those of evdev (linux/input-event-codes.h).
 */
#ifndef BERTHOS_PROTOCOL_KEY_NAMES_H
#define BERTHOS_PROTOCOL_KEY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum key_modifier { MODIFIER_SHIFT = 1, MODIFIER_CTRL = 2, MODIFIER_ALT = 4, MODIFIER_SUPER = 8 };

/* One key press: modifiers held around one key. The key is an evdev key code (linux/input-event-codes.h), or
 * 0 with a modifier alone. */
struct key_chord {
    unsigned modifiers; /* of enum key_modifier, in the order ctrl, alt, shift, super */
    uint16_t key;
};

/* Longest name of a chord, bytes. */
#define KEYS_NAME_MAX 64

/* The press that makes a character: printable ASCII, newline and tab. False for every other one. */
bool keys_from_character(uint32_t code_point, struct key_chord *chord);

/*
 * Reads "Return", "a", "ctrl+s", "ctrl++", "shift". Names in any case; X keysym names and the names people
 * use. With ctrl, alt or super the case of a letter means nothing: "ctrl+C" is "ctrl+c", and Shift is added
 * only where it is named. ERROR_BAD_REQUEST for an unknown name or a broken chord, ERROR_UNTYPABLE for a key
 * that is known but cannot be entered exactly.
 */
int keys_parse(const char *name, struct key_chord *chord, struct error *err);

/* The modifier of a name ("ctrl", "Control_L", "cmd"), or 0. */
unsigned keys_modifier(const char *name, size_t length);

/* The key code of one modifier. */
uint16_t keys_of_modifier(enum key_modifier modifier);

#endif
