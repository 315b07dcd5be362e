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
#include "base/member.h"
#include "protocol/key_names.h"

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

/* What a wait waits for. */
enum action_until { UNTIL_DURATION = 0, UNTIL_CHANGE, UNTIL_STILL };

/* The picture counts as still when it has not changed for this long. */
#define ACTION_STILL_MS 500

/* How many characters may be typed by keys. */
#define ACTION_KEYS_MAX 4000

/* How a text is typed: by key presses, by the guest's helper through its agent, or by what fits. */
enum action_via { VIA_AUTO = 0, VIA_KEYS, VIA_AGENT };

/* What an action cannot do without, beside a US keyboard and a pointer of three buttons and one wheel. */
enum action_need {
    NEED_TYPIST = 1,  /* text that is on no key, longer than ACTION_KEYS_MAX, or asked for by the agent */
    NEED_BUTTONS = 2, /* the buttons back and forward */
    NEED_WHEEL = 4,   /* the horizontal wheel */
};

/* What an action may do to a guest, for clients that ask before they act. */
enum action_effect {
    EFFECT_READS = 1,    /* changes nothing there */
    EFFECT_DESTROYS = 2, /* may destroy something: a click on "Delete" is a click */
    EFFECT_SAME = 4,     /* done a second time, it changes nothing more */
    EFFECT_LINGERS = 8,  /* takes as long as its fields say */
};

struct action_point {
    int32_t x, y; /* pixels */
};

struct action_region {
    int32_t x, y, width, height; /* pixels */
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
    int32_t dx, dy;      /* wheel notches, +right, +down */
    char *text;          /* type; UTF-8 without NUL, and without control characters but newline and tab */
    size_t characters;   /* of text */
    enum action_via via; /* type */
    unsigned needs;      /* of enum action_need */
    struct key_chord *keys;
    size_t key_count;
    int repeat;          /* key, 1..100 */
    int64_t duration_ms; /* hold_key, wait */
    enum action_until until;
    bool has_region;
    struct action_region region; /* what a wait looks at; the whole screen without has_region */
    int64_t timeout_ms;          /* how long a wait for change or stillness may take */
};

/* How a field is written in JSON, beside the kinds of base/member.h. */
enum {
    FIELD_TEXT = MEMBER_OWN, /* a string of min..max characters */
    FIELD_KEYS,              /* a string, or an array of min..max strings; each a key or a chord */
    FIELD_MODIFIERS,         /* an array of at most max of `words` */
    FIELD_PATH,              /* an array of min..max points [x, y] */
    FIELD_REGION,            /* [x, y, width, height] */
};

struct action_op {
    const char *name;
    enum action_kind kind;
    const char *title;           /* as a heading: "Double-click" */
    const char *help;            /* a sentence without a period */
    const struct member *fields; /* fallback in JSON; help a sentence without a period */
    size_t field_count;
    enum action_button button; /* what a click presses without a field that says so */
    int count;                 /* and how often */
    unsigned effects;          /* of enum action_effect */
};

/* The table, in the order of the documents. Borrowed, static. */
const struct action_op *action_ops(size_t *count);

/* The op of a name, or NULL. */
const struct action_op *action_find(const char *name);

/*
 * Decodes one action object. ERROR_BAD_REQUEST names the op, the field and what is allowed; ERROR_UNTYPABLE
 * for text, keys or buttons that no guest can enter exactly (checked whole, before any key). What only some
 * guests can is decoded, and action.needs says what it takes. The result is cleared with action_clear().
 */
int action_decode(const json_t *object, struct action *action, struct error *err);

/*
 * ERROR_UNTYPABLE when an action needs something that is not in `has` (of enum action_need): the sentence
 * says what, and what to do instead.
 */
int action_check_needs(const struct action *action, unsigned has, struct error *err);

/* Frees what an action owns and makes it all zero. Fine on one that is all zero. */
void action_clear(struct action *action);

#endif
