#include "mcp/arguments.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "protocol/key_names.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct member *field_of(const struct action_op *op, const char *name)
{
    for (size_t i = 0; i < op->field_count; i++)
        if (strcmp(op->fields[i].name, name) == 0)
            return &op->fields[i];
    return NULL;
}

/* 640.0 is 640: some clients know only one kind of number. A new reference, or the value's own. */
static json_t *whole(json_t *value)
{
    if (json_is_real(value) && fabs(json_real_value(value)) < 1e15 &&
        trunc(json_real_value(value)) == json_real_value(value))
        return json_integer((json_int_t)json_real_value(value));
    if (!json_is_array(value))
        return json_incref(value);
    json_t *array = json_array();
    for (size_t i = 0; i < json_array_size(value); i++)
        json_array_append_new(array, whole(json_array_get(value, i)));
    return array;
}

/* Takes an alias out of the arguments: a new reference, or NULL where it is not there. */
static json_t *take(json_t *action, const char *name)
{
    json_t *value = json_incref(json_object_get(action, name));
    json_object_del(action, name);
    return value;
}

static int refuse_both(const json_t *action, const char *alias, const char *const names[], struct error *err)
{
    for (size_t i = 0; names[i]; i++)
        if (json_object_get(action, names[i]))
            return error_set(err, ERROR_BAD_REQUEST, "give either \"%s\" or \"%s\", not both", alias,
                             names[i]);
    return 0;
}

/* coordinate: [x, y] */
static int read_coordinate(const struct action_op *op, json_t *action, struct error *err)
{
    if (!field_of(op, "x") || !json_object_get(action, "coordinate"))
        return 0;
    CLEANUP_JSON json_t *point = take(action, "coordinate");
    if (refuse_both(action, "coordinate", (const char *const[]){"x", "y", NULL}, err) < 0)
        return -1;
    if (!json_is_array(point) || json_array_size(point) != 2)
        return error_set(err, ERROR_BAD_REQUEST, "\"coordinate\" must be [x, y]");
    json_object_set(action, "x", json_array_get(point, 0));
    json_object_set(action, "y", json_array_get(point, 1));
    return 0;
}

/* start_coordinate and coordinate of a drag, and points written as {"x": .., "y": ..} */
static int read_path(const struct action_op *op, json_t *action, struct error *err)
{
    if (!field_of(op, "path"))
        return 0;
    if (json_object_get(action, "start_coordinate") || json_object_get(action, "coordinate")) {
        CLEANUP_JSON json_t *from = take(action, "start_coordinate");
        CLEANUP_JSON json_t *to = take(action, "coordinate");
        if (refuse_both(action, "start_coordinate", (const char *const[]){"path", NULL}, err) < 0)
            return -1;
        if (!from || !to)
            return error_set(err, ERROR_BAD_REQUEST,
                             "a drag needs \"path\", or \"start_coordinate\" and \"coordinate\" together");
        json_object_set_new(action, "path", json_pack("[O, O]", from, to));
    }
    json_t *path = json_object_get(action, "path");
    for (size_t i = 0; json_is_array(path) && i < json_array_size(path); i++) {
        json_t *point = json_array_get(path, i), *x = json_object_get(point, "x"),
               *y = json_object_get(point, "y");
        if (json_object_size(point) == 2 && x && y) {
            CLEANUP_JSON json_t *pair = json_pack("[O, O]", x, y);
            json_array_set_new(path, i, whole(pair));
        }
    }
    return 0;
}

/* scroll_direction with scroll_amount */
static int read_scroll(const struct action_op *op, json_t *action, struct error *err)
{
    static const struct {
        const char *word, *field;
        int sign;
    } directions[] = {{"up", "dy", -1}, {"down", "dy", 1}, {"left", "dx", -1}, {"right", "dx", 1}};
    if (!field_of(op, "dy") ||
        (!json_object_get(action, "scroll_direction") && !json_object_get(action, "scroll_amount")))
        return 0;
    CLEANUP_JSON json_t *direction = take(action, "scroll_direction");
    CLEANUP_JSON json_t *amount = take(action, "scroll_amount");
    if (refuse_both(action, "scroll_direction", (const char *const[]){"dx", "dy", NULL}, err) < 0)
        return -1;
    for (size_t i = 0; json_is_string(direction) && i < COUNT(directions); i++)
        if (strcmp(directions[i].word, json_string_value(direction)) == 0 && json_is_integer(amount) &&
            json_integer_value(amount) >= 1 && json_integer_value(amount) <= 100) {
            json_object_set_new(action, directions[i].field,
                                json_integer(directions[i].sign * json_integer_value(amount)));
            return 0;
        }
    return error_set(
        err, ERROR_BAD_REQUEST,
        "\"scroll_direction\" must be up, down, left or right, with \"scroll_amount\" 1 to 100 wheel "
        "notches");
}

/* duration, in seconds */
static int read_duration(const struct action_op *op, json_t *action, struct error *err)
{
    const struct member *field = field_of(op, "duration_ms");
    if (!field || !json_object_get(action, "duration"))
        return 0;
    CLEANUP_JSON json_t *duration = take(action, "duration");
    double seconds = json_number_value(duration);
    if (refuse_both(action, "duration", (const char *const[]){"duration_ms", NULL}, err) < 0)
        return -1;
    if (!json_is_number(duration) || !(seconds >= 0 && seconds * 1000 <= (double)field->max))
        return error_set(err, ERROR_BAD_REQUEST, "\"duration\" is seconds, a number from 0 to %" PRId64,
                         field->max / 1000);
    json_object_set_new(action, "duration_ms", json_integer(llround(seconds * 1000)));
    return 0;
}

static const char *modifier_word(const char *name, size_t length)
{
    switch (keys_modifier(name, length)) {
    case MODIFIER_SHIFT:
        return "shift";
    case MODIFIER_CTRL:
        return "ctrl";
    case MODIFIER_ALT:
        return "alt";
    case MODIFIER_SUPER:
        return "super";
    default:
        return NULL;
    }
}

/* Adds the names joined by + to the list; false where one is no modifier. */
static bool add_modifiers(const char *names, json_t *list)
{
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, "+");
        const char *word = modifier_word(at, length);
        if (!word)
            return false;
        json_array_append_new(list, json_string(word));
        at += length + (at[length] == '+');
    }
    return true;
}

/* text as held modifiers; modifiers as one string, and under any of their names */
static int read_modifiers(const struct action_op *op, json_t *action, struct error *err)
{
    const char *alias = "modifiers";
    if (!field_of(op, "modifiers"))
        return 0;
    if (!field_of(op, "text") && json_object_get(action, "text")) {
        if (refuse_both(action, "text", (const char *const[]){"modifiers", NULL}, err) < 0)
            return -1;
        alias = "text";
    }
    CLEANUP_JSON json_t *given = take(action, alias);
    if (!given)
        return 0;
    CLEANUP_JSON json_t *list = json_array();
    bool good = json_is_string(given) || json_is_array(given);
    if (json_is_string(given))
        good = add_modifiers(json_string_value(given), list);
    for (size_t i = 0; good && i < json_array_size(given); i++) {
        const char *name = json_string_value(json_array_get(given, i));
        good = name && name[0] && !strchr(name, '+') && add_modifiers(name, list);
    }
    if (!good)
        return error_set(err, ERROR_BAD_REQUEST,
                         "\"%s\" names the keys that are held down meanwhile: ctrl, alt, shift, super%s",
                         alias, alias[0] == 't' ? ", joined by +" : "");
    json_object_set(action, "modifiers", list);
    return 0;
}

/* text or key as keys */
static int read_keys(const struct action_op *op, json_t *action, struct error *err)
{
    static const char *const aliases[] = {"text", "key"};
    for (size_t i = 0; field_of(op, "keys") && i < COUNT(aliases); i++) {
        CLEANUP_JSON json_t *given = take(action, aliases[i]);
        if (!given)
            continue;
        if (refuse_both(action, aliases[i], (const char *const[]){"keys", NULL}, err) < 0)
            return -1;
        json_object_set(action, "keys", given);
    }
    return 0;
}

/* region as {"x": .., "y": .., "width": .., "height": ..} */
static void read_region(json_t *action)
{
    json_t *box = json_object_get(action, "region");
    json_t *x = json_object_get(box, "x"), *y = json_object_get(box, "y");
    json_t *width = json_object_get(box, "width"), *height = json_object_get(box, "height");
    if (json_object_size(box) != 4 || !x || !y || !width || !height)
        return;
    CLEANUP_JSON json_t *numbers = json_pack("[O, O, O, O]", x, y, width, height);
    json_object_set_new(action, "region", whole(numbers));
}

typedef int alias_reader(const struct action_op *, json_t *, struct error *);

static alias_reader *const readers[] = {read_coordinate, read_path,      read_scroll,
                                        read_duration,   read_modifiers, read_keys};

static int read_frame(const json_t *arguments, const struct mcp_view *last, struct mcp_view *view,
                      struct error *err)
{
    const json_t *frame = json_object_get(arguments, "frame");
    int64_t width = 0, height = 0;
    *view = *last;
    if (!frame || json_is_null(frame))
        return 0;
    if (document_integer(frame, "width", 1, MCP_COORDINATE_MAX, &width, err) < 0 ||
        document_integer(frame, "height", 1, MCP_COORDINATE_MAX, &height, err) < 0 ||
        document_keys(frame, (const char *const[]){"width", "height", NULL}, err) < 0)
        return error_prefix(err, "\"frame\"");
    if (width != last->frame_width || height != last->frame_height)
        *view = mcp_view_of((int32_t)width, (int32_t)height);
    return 0;
}

/* The arguments that are not the action's own. */
static int read_asked(const json_t *arguments, const struct mcp_view *last, struct mcp_asked *asked,
                      struct error *err)
{
    const json_t *screenshot = json_object_get(arguments, "screenshot");
    *asked = (struct mcp_asked){.screenshot = json_is_true(screenshot)};
    if (screenshot && !json_is_boolean(screenshot) && !json_is_null(screenshot))
        return error_set(err, ERROR_BAD_REQUEST, "the field \"screenshot\" must be true or false");
    return read_frame(arguments, last, &asked->view, err);
}

static int check_point(const struct mcp_view *view, int64_t x, int64_t y, struct error *err)
{
    if (x >= 0 && y >= 0 && x < view->picture_width && y < view->picture_height)
        return 0;
    return error_set(
        err, ERROR_BAD_REQUEST,
        "the point %" PRId64 ",%" PRId64 " is outside the screenshot, which is %dx%d: x is 0 to %d, y 0 "
        "to %d",
        x, y, view->picture_width, view->picture_height, view->picture_width - 1, view->picture_height - 1);
}

/* Two whole numbers of the picture; gives new references to those of the screen. */
static int map_point(const struct mcp_view *view, json_t **x, json_t **y, struct error *err)
{
    if (check_point(view, json_integer_value(*x), json_integer_value(*y), err) < 0)
        return -1;
    int32_t at_x = (int32_t)json_integer_value(*x), at_y = (int32_t)json_integer_value(*y);
    mcp_view_to_screen(view, &at_x, &at_y);
    *x = json_integer(at_x);
    *y = json_integer(at_y);
    return 0;
}

static int check_box(const struct mcp_view *view, struct mcp_box box, struct error *err)
{
    if ((int64_t)box.x + box.width <= view->picture_width &&
        (int64_t)box.y + box.height <= view->picture_height)
        return 0;
    return error_set(
        err, ERROR_BAD_REQUEST,
        "the region [%d, %d, %d, %d] goes beyond the screenshot, which is %dx%d; it is [x, y, width, "
        "height], not two corners",
        box.x, box.y, box.width, box.height, view->picture_width, view->picture_height);
}

/* [x, y, width, height] of whole numbers, width and height at least 1. */
static bool read_box(const json_t *numbers, struct mcp_box *box)
{
    int32_t *slots[] = {&box->x, &box->y, &box->width, &box->height};
    if (!json_is_array(numbers) || json_array_size(numbers) != COUNT(slots))
        return false;
    for (size_t i = 0; i < COUNT(slots); i++) {
        const json_t *number = json_array_get(numbers, i);
        if (!json_is_integer(number) || json_integer_value(number) < (i >= 2) ||
            json_integer_value(number) > MCP_COORDINATE_MAX)
            return false;
        *slots[i] = (int32_t)json_integer_value(number);
    }
    return true;
}

static int map_region(const struct mcp_view *view, json_t *action, struct error *err)
{
    struct mcp_box box;
    if (!read_box(json_object_get(action, "region"), &box))
        return 0;
    if (check_box(view, box, err) < 0)
        return -1;
    box = mcp_view_box_to_screen(view, box);
    json_object_set_new(action, "region", json_pack("[i, i, i, i]", box.x, box.y, box.width, box.height));
    return 0;
}

/* Coordinates of the picture become those of the screen. */
static int map(const struct mcp_view *view, json_t *action, struct error *err)
{
    json_t *x = json_object_get(action, "x"), *y = json_object_get(action, "y");
    const json_t *path = json_object_get(action, "path");
    if (!view->picture_width)
        return 0;
    if (json_is_integer(x) && json_is_integer(y)) {
        if (map_point(view, &x, &y, err) < 0)
            return -1;
        json_object_set_new(action, "x", x);
        json_object_set_new(action, "y", y);
    }
    for (size_t i = 0; i < json_array_size(path); i++) {
        json_t *point = json_array_get(path, i), *to_x = json_array_get(point, 0),
               *to_y = json_array_get(point, 1);
        if (!json_is_integer(to_x) || !json_is_integer(to_y))
            continue;
        if (map_point(view, &to_x, &to_y, err) < 0)
            return -1;
        json_array_set_new(point, 0, to_x);
        json_array_set_new(point, 1, to_y);
    }
    return map_region(view, action, err);
}

/* How long an action means to take. */
static int64_t own_duration(const struct action *action)
{
    return action->kind == ACTION_WAIT && action->until != UNTIL_DURATION ? action->timeout_ms
                                                                          : action->duration_ms;
}

/* What an action of the table looks like on the wire, from its arguments without `screenshot` and `frame`. */
static json_t *make_action(const struct action_op *op, const json_t *arguments, struct mcp_asked *asked,
                           struct error *err)
{
    CLEANUP_JSON json_t *action = json_pack("{s:s}", "op", op->name);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)arguments, key, value) if (!json_is_null(value) && strcmp(key, "op") != 0)
        json_object_set_new(action, key, whole(value));
    read_region(action);
    for (size_t i = 0; i < COUNT(readers); i++)
        if (readers[i](op, action, err) < 0) {
            error_prefix(err, "the action %s", op->name);
            return NULL;
        }
    struct action decoded = {.kind = ACTION_WAIT};
    struct error reason = ERROR_INIT;
    if (action_decode(action, &decoded, &reason) < 0 && reason.code != ERROR_UNTYPABLE) {
        *err = reason;
        return NULL;
    }
    asked->duration_ms += own_duration(&decoded);
    action_clear(&decoded);
    if (map(&asked->view, action, err) < 0) {
        error_prefix(err, "the action %s", op->name);
        return NULL;
    }
    return TAKE(action);
}

json_t *mcp_arguments_action(const struct action_op *op, const json_t *arguments, const struct mcp_view *last,
                             struct mcp_asked *asked, struct error *err)
{
    if (read_asked(arguments, last, asked, err) < 0)
        return NULL;
    CLEANUP_JSON json_t *own = json_copy((json_t *)arguments);
    json_object_del(own, "screenshot");
    json_object_del(own, "frame");
    json_object_del(own, "op"); /* said by the tool's name */
    return make_action(op, own, asked, err);
}

/* The op of one action of a batch: by the names of the table, or those that models were taught. */
static const struct action_op *op_of(const json_t *item, struct error *err)
{
    static const char *const others[][2] = {
        {"left_click", "click"},           {"left_click_drag", "drag"},   {"mouse_move", "move"},
        {"left_mouse_down", "mouse_down"}, {"left_mouse_up", "mouse_up"}, {"keypress", "key"},
    };
    const char *name = json_string_value(json_object_get(item, "op"));
    if (!name)
        name = json_string_value(json_object_get(item, "action"));
    for (size_t i = 0; name && i < COUNT(others); i++)
        if (strcmp(others[i][0], name) == 0)
            name = others[i][1];
    const struct action_op *op = name ? action_find(name) : NULL;
    if (op)
        return op;
    /* The decoder has the sentence with all the names. */
    struct action none = {.kind = ACTION_WAIT};
    CLEANUP_JSON json_t *wrong = name ? json_pack("{s:s}", "op", name) : json_object();
    if (action_decode(wrong, &none, err) == 0)
        action_clear(&none);
    return NULL;
}

json_t *mcp_arguments_batch(const json_t *arguments, const struct mcp_view *last, struct mcp_asked *asked,
                            struct error *err)
{
    const json_t *items = json_object_get(arguments, "actions");
    size_t count = json_array_size(items);
    if (document_keys(arguments, (const char *const[]){"actions", "screenshot", "frame", NULL}, err) < 0 ||
        read_asked(arguments, last, asked, err) < 0)
        return NULL;
    if (count < 1 || count > MCP_ACTIONS_MAX) {
        error_set(err, ERROR_BAD_REQUEST, "the field \"actions\" must be an array of 1 to %d actions, as %s",
                  MCP_ACTIONS_MAX, "[{\"op\": \"click\", \"x\": 640, \"y\": 400}]");
        return NULL;
    }
    CLEANUP_JSON json_t *actions = json_array();
    for (size_t i = 0; i < count; i++) {
        CLEANUP_JSON json_t *item = json_copy(json_array_get(items, i));
        const struct action_op *op = op_of(item, err);
        json_object_del(item, "action");
        json_t *action = op ? make_action(op, item, asked, err) : NULL;
        if (!action) {
            error_prefix(err, "action %zu", i);
            return NULL;
        }
        json_array_append_new(actions, action);
    }
    return TAKE(actions);
}

int mcp_arguments_region(const json_t *arguments, const struct mcp_view *last, struct mcp_asked *asked,
                         struct mcp_box *given, struct mcp_box *on_screen, struct error *err)
{
    CLEANUP_JSON json_t *own = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)arguments, key, value) json_object_set_new(own, key, whole(value));
    read_region(own);
    if (document_keys(own, (const char *const[]){"region", "frame", NULL}, err) < 0 ||
        read_asked(own, last, asked, err) < 0)
        return -1;
    if (!read_box(json_object_get(own, "region"), given))
        return error_set(
            err, ERROR_BAD_REQUEST,
            "the field \"region\" must be [x, y, width, height], whole numbers from 0 to %d, with width "
            "and height at least 1",
            MCP_COORDINATE_MAX);
    *on_screen = *given;
    if (!asked->view.picture_width)
        return 0;
    if (check_box(&asked->view, *given, err) < 0)
        return -1;
    *on_screen = mcp_view_box_to_screen(&asked->view, *given);
    return 0;
}

int mcp_arguments_screenshot(const json_t *arguments, int64_t *settle_ms, struct error *err)
{
    CLEANUP_JSON json_t *own = json_object();
    const char *key;
    json_t *value;
    *settle_ms = 0;
    json_object_foreach((json_t *)arguments, key, value) if (!json_is_null(value))
        json_object_set_new(own, key, whole(value));
    if (document_keys(own, (const char *const[]){"settle_ms", NULL}, err) < 0)
        return -1;
    return document_maybe_integer(own, "settle_ms", 0, MCP_SETTLE_MAX_MS, settle_ms, err);
}

int mcp_arguments_none(const json_t *arguments, struct error *err)
{
    if (json_object_size(arguments) == 0)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "this tool takes no arguments");
}
