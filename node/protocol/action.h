/*
 * Actions (CONTRACT.md section 4): one table of ops with their fields, bounds and help. Decoding, the
 * documents that describe it and the tools of later surfaces are driven by this table alone.
 */
#ifndef BERTHOS_PROTOCOL_ACTION_H
#define BERTHOS_PROTOCOL_ACTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

/* What the hands do in the end; several ops of the table may share a kind (double_click is a click of count
 * 2). */
enum action_kind {
    ACTION_CLICK,
    ACTION_MOVE,
    ACTION_DRAG,
    ACTION_MOUSE_DOWN,
    ACTION_MOUSE_UP,
    ACTION_SCROLL,
    ACTION_TYPE,
    ACTION_KEY,
    ACTION_HOLD_KEY,
    ACTION_WAIT,
    ACTION_CURSOR_POSITION,
};

enum action_button { BUTTON_LEFT = 0, BUTTON_MIDDLE, BUTTON_RIGHT, BUTTON_BACK, BUTTON_FORWARD };

enum action_modifier { MODIFIER_SHIFT = 1, MODIFIER_CTRL = 2, MODIFIER_ALT = 4, MODIFIER_SUPER = 8 };

struct action_point {
    int32_t x, y; /* pixels */
};

/* One key press: modifiers held around one key. The key is an evdev key code (linux/input-event-codes.h), or
 * 0 with a modifier alone. */
struct action_chord {
    unsigned modifiers; /* of enum action_modifier, in the order ctrl, alt, shift, super */
    uint16_t key;
};

/* Strings and arrays are owned by the struct. Fields that an op does not have are zero. */
struct action {
    enum action_kind kind;
    const char *op; /* the name it came by; static */
    bool has_point;
    struct action_point point;
    enum action_button button;
    int count;                 /* clicks, 1..3 */
    unsigned modifiers;        /* held around a click, drag or scroll */
    struct action_point *path; /* drag */
    size_t path_count;
    int32_t dx, dy; /* wheel notches, +right, +down */
    char *text;     /* type; UTF-8 */
    struct action_chord *keys;
    size_t key_count;
    int repeat;          /* key, 1..100 */
    int64_t duration_ms; /* hold_key, wait */
};

/*
 * Decodes one action object. ERROR_BAD_REQUEST names the op, the field and what is allowed; ERROR_UNTYPABLE
 * for text or keys that cannot be entered exactly (checked whole, before any key). The result is cleared with
 * action_clear().
 */
int action_decode(const json_t *object, struct action *action, struct error *err);

void action_clear(struct action *action);

#endif
