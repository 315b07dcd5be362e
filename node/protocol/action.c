#include "protocol/action.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/memory.h"
#include "base/text.h"

#define COUNT(array)       (sizeof(array) / sizeof((array)[0]))
#define COORDINATE_MAX     32767
#define DURATION_MAX_MS    300000
#define TIMEOUT_DEFAULT_MS 30000
#define PATH_MAX_POINTS    256
#define TEXT_MAX           16384

#define DIGITS_(number) #number
#define DIGITS(number)  DIGITS_(number)
#define AT(member)      MEMBER_AT(struct action, member)
#define OPTIONAL        .optional = true

static const char *const button_words[] = {"left", "middle", "right", "back", "forward", NULL};
static const char *const modifier_words[] = {"ctrl", "alt", "shift", "super", NULL};
static const char *const via_words[] = {"auto", "keys", "agent", NULL};
static const char *const until_words[] = {"change", "still", NULL};

/* Fields that many ops share. */
#define FIELD(name, kind, member, ...)                                                                       \
    {                                                                                                        \
        name, kind, AT(member), __VA_ARGS__                                                                  \
    }
#define NUMBER(name, member, least, most, ...)                                                               \
    FIELD(name, MEMBER_INTEGER, member, .min = least, .max = most, __VA_ARGS__)
#define FIELD_X NUMBER("x", point.x, 0, COORDINATE_MAX, .help = "pixels from the left edge of the screen")
#define FIELD_Y NUMBER("y", point.y, 0, COORDINATE_MAX, .help = "pixels from the top edge of the screen")
#define FIELD_MAYBE_X                                                                                        \
    NUMBER("x", point.x, 0, COORDINATE_MAX, OPTIONAL,                                                        \
           .help = "pixels from the left edge; with y, where the pointer goes first")
#define FIELD_MAYBE_Y                                                                                        \
    NUMBER("y", point.y, 0, COORDINATE_MAX, OPTIONAL,                                                        \
           .help = "pixels from the top edge; with x, where the pointer goes first")
#define FIELD_BUTTON                                                                                         \
    FIELD("button", MEMBER_WORD, button, OPTIONAL, .words = button_words, .fallback = "\"left\"",            \
          .help = "which button")
#define FIELD_HELD                                                                                           \
    FIELD("modifiers", FIELD_MODIFIERS, modifiers, OPTIONAL, .max = 4, .words = modifier_words,              \
          .allowed = "an array of at most 4 of ctrl, alt, shift, super", .fallback = "[]",                   \
          .help = "keys held down meanwhile")
#define FIELD_COUNT                                                                                          \
    NUMBER("count", count, 1, 3, OPTIONAL, .fallback = "1", .help = "how many clicks in a row")
#define FIELD_KEY_NAMES(most)                                                                                \
    FIELD("keys", FIELD_KEYS, keys, .min = 1, .max = most,                                                   \
          .allowed = "a string, or an array of 1 to " DIGITS(most) " strings",                               \
          .help = "a key or chord, as \"Return\", \"ctrl+s\" or \"ctrl++\", or an array of them")

static const struct member click_fields[] = {FIELD_X, FIELD_Y, FIELD_BUTTON, FIELD_COUNT, FIELD_HELD};
static const struct member multiple_fields[] = {FIELD_X, FIELD_Y, FIELD_BUTTON, FIELD_HELD};
static const struct member named_button_fields[] = {FIELD_X, FIELD_Y, FIELD_COUNT, FIELD_HELD};
static const struct member move_fields[] = {FIELD_X, FIELD_Y};
static const struct member drag_fields[] = {
    {"path", FIELD_PATH, AT(path), .min = 2, .max = PATH_MAX_POINTS,
     .allowed = "an array of 2 to " DIGITS(
         PATH_MAX_POINTS) " points [x, y], each a whole number from 0 to " DIGITS(COORDINATE_MAX),
     .help = "points [x, y]; the button goes down at the first and up at the last"},
    FIELD_BUTTON,
    FIELD_HELD,
};
static const struct member button_fields[] = {FIELD_BUTTON, FIELD_MAYBE_X, FIELD_MAYBE_Y};
static const struct member scroll_fields[] = {
    FIELD_X,
    FIELD_Y,
    NUMBER("dx", dx, -100, 100, OPTIONAL, .fallback = "0", .help = "wheel notches to the right"),
    NUMBER("dy", dy, -100, 100, OPTIONAL, .fallback = "0", .help = "wheel notches down"),
    FIELD_HELD,
};
static const struct member type_fields[] = {
    {"text", FIELD_TEXT, AT(text), .min = 1, .max = TEXT_MAX,
     .allowed = "a string of 1 to " DIGITS(TEXT_MAX) " characters",
     .help = "what to type; of control characters only newline and tab"},
    {"via", MEMBER_WORD, AT(via), OPTIONAL, .words = via_words, .fallback = "\"auto\"",
     .help = "by key presses (printable ASCII, at most 4000 characters), by the guest's agent, or what fits"},
};
static const struct member key_fields[] = {
    FIELD_KEY_NAMES(32),
    NUMBER("repeat", repeat, 1, 100, OPTIONAL, .fallback = "1", .help = "how often the keys are pressed"),
};
static const struct member hold_key_fields[] = {
    FIELD_KEY_NAMES(8),
    NUMBER("duration_ms", duration_ms, 1, DURATION_MAX_MS, .help = "how long they are held, milliseconds"),
};
static const struct member wait_fields[] = {
    NUMBER("duration_ms", duration_ms, 0, DURATION_MAX_MS, OPTIONAL,
           .help = "how long to wait, milliseconds"),
    {"until", MEMBER_WORD, AT(until), OPTIONAL, .min = UNTIL_CHANGE, .max = UNTIL_STILL, .words = until_words,
     .help = "instead of a duration: until the picture has changed, or has been still for 500 ms"},
    {"region", FIELD_REGION, AT(region), OPTIONAL, .max = COORDINATE_MAX,
     .allowed = "[x, y, width, height], whole numbers from 0 to " DIGITS(
         COORDINATE_MAX) ", with width and height at least 1",
     .help = "with until, the part of the screen that counts: [x, y, width, height]"},
    NUMBER("timeout_ms", timeout_ms, 1, DURATION_MAX_MS, OPTIONAL, .fallback = "30000",
           .help = "with until, how long it may take, milliseconds"),
};

#define OP(name, kind, fields, button, count, effects, title, help)                                          \
    {                                                                                                        \
        name, kind, title, help, fields, COUNT(fields), button, count, effects                               \
    }
#define CLICK(name, fields, button, count, title, help)                                                      \
    OP(name, ACTION_CLICK, fields, button, count, EFFECT_DESTROYS, title, help)

static const struct action_op table[] = {
    CLICK("click", click_fields, BUTTON_LEFT, 1, "Click", "Moves the pointer to a pixel and clicks"),
    CLICK("double_click", multiple_fields, BUTTON_LEFT, 2, "Double-click", "Clicks twice"),
    CLICK("triple_click", multiple_fields, BUTTON_LEFT, 3, "Triple-click", "Clicks three times"),
    CLICK("right_click", named_button_fields, BUTTON_RIGHT, 1, "Right-click", "Clicks the right button"),
    CLICK("middle_click", named_button_fields, BUTTON_MIDDLE, 1, "Middle-click", "Clicks the middle button"),
    OP("move", ACTION_MOVE, move_fields, BUTTON_LEFT, 0, EFFECT_SAME, "Move the pointer",
       "Moves the pointer to a pixel"),
    OP("drag", ACTION_DRAG, drag_fields, BUTTON_LEFT, 0, EFFECT_DESTROYS, "Drag",
       "Drags along a path with a button held"),
    OP("mouse_down", ACTION_MOUSE_DOWN, button_fields, BUTTON_LEFT, 0, EFFECT_DESTROYS,
       "Press a mouse button", "Presses a button and leaves it down"),
    OP("mouse_up", ACTION_MOUSE_UP, button_fields, BUTTON_LEFT, 0, EFFECT_DESTROYS | EFFECT_SAME,
       "Release a mouse button", "Releases a button"),
    OP("scroll", ACTION_SCROLL, scroll_fields, BUTTON_LEFT, 0, 0, "Scroll", "Turns the wheel at a pixel"),
    OP("type", ACTION_TYPE, type_fields, BUTTON_LEFT, 0, EFFECT_DESTROYS, "Type text",
       "Types text, exactly or not at all"),
    OP("key", ACTION_KEY, key_fields, BUTTON_LEFT, 0, EFFECT_DESTROYS, "Press keys",
       "Presses keys and chords, one after the other"),
    OP("hold_key", ACTION_HOLD_KEY, hold_key_fields, BUTTON_LEFT, 0, EFFECT_DESTROYS | EFFECT_LINGERS,
       "Hold keys down", "Holds keys down together for a time"),
    OP("wait", ACTION_WAIT, wait_fields, BUTTON_LEFT, 0, EFFECT_READS | EFFECT_SAME | EFFECT_LINGERS, "Wait",
       "Waits for a time, or until the picture changes or is still"),
    {"cursor_position", ACTION_CURSOR_POSITION, "Where the pointer is", "Tells where the pointer is", NULL, 0,
     BUTTON_LEFT, 0, EFFECT_READS | EFFECT_SAME},
};

const struct action_op *action_ops(size_t *count)
{
    *count = COUNT(table);
    return table;
}

const struct action_op *action_find(const char *name)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static int decode_modifiers(const struct member *field, const json_t *value, struct action *action,
                            struct error *err)
{
    static const unsigned bits[] = {MODIFIER_CTRL, MODIFIER_ALT, MODIFIER_SHIFT, MODIFIER_SUPER};
    const struct member word = {"modifier", MEMBER_WORD, .size = sizeof(int), .words = field->words};
    bool good = json_is_array(value) && json_array_size(value) <= (size_t)field->max;
    for (size_t i = 0; good && i < json_array_size(value); i++) {
        int index;
        good = member_decode(&word, json_array_get(value, i), &index);
        if (good)
            action->modifiers |= bits[index];
    }
    return good ? 0 : member_refuse(field, err);
}

/* Control characters: C0 without newline and tab, DEL and C1. */
static bool is_control(uint32_t code_point)
{
    return (code_point < 0x20 && code_point != '\n' && code_point != '\t') ||
           (code_point >= 0x7f && code_point < 0xa0);
}

/* Checks every character before any key: the text is typed whole or not at all. */
static int check_text(const char *text, size_t size, struct action *action, struct error *err)
{
    size_t *characters = &action->characters;
    for (size_t at = 0; at < size; (*characters)++) {
        uint32_t code_point;
        struct key_chord chord;
        size_t length = text_decode(text + at, size - at, &code_point);
        if (length == 0)
            return error_set(err, ERROR_BAD_REQUEST, "the field \"text\" is not UTF-8 at character %zu",
                             *characters + 1);
        if (code_point == 0)
            return error_set(err, ERROR_BAD_REQUEST, "the field \"text\" contains NUL, at character %zu",
                             *characters + 1);
        if (is_control(code_point))
            return error_set(err, ERROR_UNTYPABLE,
                             "the character U+%04X, number %zu of the text, is a control character and "
                             "cannot be typed; nothing was. Press keys with \"key\"",
                             (unsigned)code_point, *characters + 1);
        if (!keys_from_character(code_point, &chord))
            action->needs |= NEED_TYPIST;
        at += length;
    }
    return 0;
}

static int decode_text(const struct member *field, const json_t *value, struct action *action,
                       struct error *err)
{
    /* A character has at most four bytes; the length in characters is checked below. */
    size_t size = json_is_string(value) ? json_string_length(value) : 0;
    if (size >= (size_t)field->min && size <= (size_t)field->max * 4 &&
        check_text(json_string_value(value), size, action, err) < 0)
        return -1;
    if (action->characters < (size_t)field->min || action->characters > (size_t)field->max)
        return member_refuse(field, err);
    action->text = text_copy(json_string_value(value));
    return 0;
}

static int decode_keys(const struct member *field, const json_t *value, struct action *action,
                       struct error *err)
{
    size_t count = json_is_string(value) ? 1 : json_array_size(value);
    bool good = count >= (size_t)field->min && count <= (size_t)field->max;
    for (size_t i = 0; good && json_is_array(value) && i < count; i++)
        good = json_is_string(json_array_get(value, i));
    if (!good)
        return member_refuse(field, err);
    action->keys = memory_array(count, sizeof *action->keys);
    action->key_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_string(value) ? value : json_array_get(value, i);
        if (strlen(json_string_value(item)) != json_string_length(item))
            return error_set(err, ERROR_BAD_REQUEST, "the name of a key contains NUL");
        if (keys_parse(json_string_value(item), &action->keys[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Reads an array of exactly `count` coordinates. */
static bool read_numbers(const json_t *value, size_t count, int32_t *numbers)
{
    if (!json_is_array(value) || json_array_size(value) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0 ||
            json_integer_value(item) > COORDINATE_MAX)
            return false;
        numbers[i] = (int32_t)json_integer_value(item);
    }
    return true;
}

static int decode_path(const struct member *field, const json_t *value, struct action *action,
                       struct error *err)
{
    size_t count = json_array_size(value);
    bool good = count >= (size_t)field->min && count <= (size_t)field->max;
    if (good) {
        action->path = memory_array(count, sizeof *action->path);
        action->path_count = count;
    }
    for (size_t i = 0; good && i < count; i++) {
        int32_t numbers[2];
        good = read_numbers(json_array_get(value, i), 2, numbers);
        if (good)
            action->path[i] = (struct action_point){.x = numbers[0], .y = numbers[1]};
    }
    return good ? 0 : member_refuse(field, err);
}

static int decode_region(const struct member *field, const json_t *value, struct action *action,
                         struct error *err)
{
    int32_t numbers[4];
    if (!read_numbers(value, 4, numbers) || numbers[2] == 0 || numbers[3] == 0)
        return member_refuse(field, err);
    action->region = (struct action_region){numbers[0], numbers[1], numbers[2], numbers[3]};
    action->has_region = true;
    return 0;
}

static int decode_field(const struct member *field, const json_t *value, struct action *action,
                        struct error *err)
{
    switch (field->kind) {
    case FIELD_TEXT:
        return decode_text(field, value, action, err);
    case FIELD_KEYS:
        return decode_keys(field, value, action, err);
    case FIELD_MODIFIERS:
        return decode_modifiers(field, value, action, err);
    case FIELD_PATH:
        return decode_path(field, value, action, err);
    case FIELD_REGION:
        return decode_region(field, value, action, err);
    default:
        return member_decode(field, value, action) ? 0 : member_refuse(field, err);
    }
}

/* Refuses fields that the op does not have. */
static int check_names(const struct action_op *op, const json_t *object, struct error *err)
{
    const char *names[16] = {"op"};
    for (size_t i = 0; i < op->field_count; i++)
        names[i + 1] = op->fields[i].name;
    return document_keys(object, names, err);
}

/* Finds the first character of a text that is on no key. Returns its number from 1, or 0. */
static size_t first_off_keys(const char *text, uint32_t *code_point)
{
    size_t size = strlen(text), number = 0, length;
    for (size_t at = 0; at < size; at += length) {
        struct key_chord chord;
        number++;
        length = text_decode(text + at, size - at, code_point);
        if (length == 0)
            return 0;
        if (!keys_from_character(*code_point, &chord))
            return number;
    }
    return 0;
}

/* Why a text cannot be typed by keys; it cannot. */
static int refuse_keys(const struct action *action, struct error *err)
{
    uint32_t code_point;
    size_t number = first_off_keys(action->text, &code_point);
    if (number > 0)
        return error_set(err, ERROR_UNTYPABLE,
                         "the character U+%04X, number %zu of the text, is on no key of the guest's keyboard "
                         "(US layout), and nothing was typed; keys make printable ASCII, newline and tab",
                         (unsigned)code_point, number);
    return error_set(err, ERROR_UNTYPABLE,
                     "a text of %zu characters is too long for key presses, and nothing was typed; send at "
                     "most %d at a time",
                     action->characters, ACTION_KEYS_MAX);
}

/* What a text needs, by itself and by the way that was asked for. */
static int weigh_text(struct action *action, struct error *err)
{
    if (action->characters > ACTION_KEYS_MAX)
        action->needs |= NEED_TYPIST;
    if (action->via == VIA_KEYS && (action->needs & NEED_TYPIST))
        return refuse_keys(action, err);
    if (action->via == VIA_AGENT)
        action->needs |= NEED_TYPIST;
    return 0;
}

static int weigh_button(struct action *action, struct error *err)
{
    if (action->button < BUTTON_BACK)
        return 0;
    if (action->kind != ACTION_CLICK)
        return error_set(err, ERROR_UNTYPABLE, "the button \"%s\" can be clicked, but not held down",
                         button_words[action->button]);
    action->needs |= NEED_BUTTONS;
    return 0;
}

int action_check_needs(const struct action *action, unsigned has, struct error *err)
{
    unsigned lacks = action->needs & ~has;
    if (lacks & NEED_BUTTONS)
        return error_set(
            err, ERROR_UNTYPABLE,
            "the button \"%s\" does not exist on this guest's pointer; use the keys alt+Left and alt+Right",
            button_words[action->button]);
    if (lacks & NEED_WHEEL)
        return error_set(err, ERROR_UNTYPABLE,
                         "this guest's pointer has no horizontal wheel (\"dx\"); use dy with the modifier "
                         "shift, or the keys Left and Right");
    if (!(lacks & NEED_TYPIST))
        return 0;
    if (action->via == VIA_AGENT)
        return error_set(err, ERROR_UNTYPABLE,
                         "this guest has no helper that types through the agent; use via \"keys\"");
    refuse_keys(action, err);
    return error_prefix(err, "this guest has no helper that types through the agent");
}

static int check_wait(const json_t *object, const struct action *action, struct error *err)
{
    bool timed = json_object_get(object, "duration_ms");
    if (timed == (action->until != UNTIL_DURATION))
        return error_set(err, ERROR_BAD_REQUEST, "either \"duration_ms\" or \"until\" is needed, not both");
    if (timed && (action->has_region || json_object_get(object, "timeout_ms")))
        return error_set(err, ERROR_BAD_REQUEST, "\"region\" and \"timeout_ms\" go with \"until\" only");
    return 0;
}

/* What the fields must be to each other, and what they need together. */
static int check_together(const json_t *object, struct action *action, struct error *err)
{
    bool has_x = json_object_get(object, "x"), has_y = json_object_get(object, "y");
    if (has_x != has_y)
        return error_set(err, ERROR_BAD_REQUEST, "the fields \"x\" and \"y\" come together or not at all");
    action->has_point = has_x;
    if (weigh_button(action, err) < 0)
        return -1;
    switch (action->kind) {
    case ACTION_SCROLL:
        if (action->dx == 0 && action->dy == 0)
            return error_set(err, ERROR_BAD_REQUEST,
                             "the field \"dy\" or \"dx\" must say how many notches to scroll");
        action->needs |= action->dx ? NEED_WHEEL : 0;
        return 0;
    case ACTION_TYPE:
        return weigh_text(action, err);
    case ACTION_WAIT:
        return check_wait(object, action, err);
    default:
        return 0;
    }
}

static int decode_fields(const struct action_op *op, const json_t *object, struct action *action,
                         struct error *err)
{
    if (check_names(op, object, err) < 0)
        return -1;
    for (size_t i = 0; i < op->field_count; i++) {
        const struct member *field = &op->fields[i];
        const json_t *value = json_object_get(object, field->name);
        if (!value && !field->optional)
            return error_set(err, ERROR_BAD_REQUEST, "the field \"%s\" is missing", field->name);
        if (value && decode_field(field, value, action, err) < 0)
            return -1;
    }
    return check_together(object, action, err);
}

int action_decode(const json_t *object, struct action *action, struct error *err)
{
    if (!json_is_object(object))
        return error_set(err, ERROR_BAD_REQUEST, "an action is a JSON object with the field \"op\"");
    const char *name;
    if (document_string(object, "op", &name, err) < 0)
        return -1;
    const struct action_op *op = action_find(name);
    if (!op) {
        CLEANUP_TEXT struct text_buffer list = {0};
        for (size_t i = 0; i < COUNT(table); i++)
            text_join(&list, ", ", "%s", table[i].name);
        return error_set(err, ERROR_BAD_REQUEST, "there is no op \"%.64s\"; the ops are %s", name, list.text);
    }
    struct action decoded = {.kind = op->kind,
                             .op = op->name,
                             .button = op->button,
                             .count = op->count,
                             .repeat = op->kind == ACTION_KEY,
                             .timeout_ms = op->kind == ACTION_WAIT ? TIMEOUT_DEFAULT_MS : 0};
    if (decode_fields(op, object, &decoded, err) < 0) {
        action_clear(&decoded);
        return error_prefix(err, "the action %s", op->name);
    }
    *action = decoded;
    return 0;
}

void action_clear(struct action *action)
{
    free(action->path);
    free(action->text);
    free(action->keys);
    *action = (struct action){.kind = ACTION_CLICK};
}
