#include "mcp/aliases.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "protocol/key_names.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

json_t *mcp_aliases_whole(json_t *value)
{
    if (json_is_real(value) && fabs(json_real_value(value)) < 1e15 &&
        trunc(json_real_value(value)) == json_real_value(value))
        return json_integer((json_int_t)json_real_value(value));
    if (!json_is_array(value))
        return json_copy(value);
    json_t *array = json_array();
    for (size_t i = 0; i < json_array_size(value); i++)
        json_array_append_new(array, mcp_aliases_whole(json_array_get(value, i)));
    return array;
}

static const struct member *find_field(const struct action_op *op, const char *name)
{
    return member_find(op->fields, op->field_count, name);
}

/* Takes an alias out of the arguments: a new reference, or NULL where it is not there. */
static json_t *take_alias(json_t *action, const char *name)
{
    json_t *value = json_incref(json_object_get(action, name));
    json_object_del(action, name);
    return value;
}

/* An alias stands beside neither of the fields that it means; `other` may be NULL. */
static int refuse_both(const json_t *action, const char *alias, const char *name, const char *other,
                       struct error *err)
{
    const char *there = json_object_get(action, name) ? name : other;
    if (!there || !json_object_get(action, there))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "give either \"%s\" or \"%s\", not both", alias, there);
}

/* coordinate: [x, y] */
static int read_coordinate(const struct action_op *op, json_t *action, struct error *err)
{
    if (!find_field(op, "x") || !json_object_get(action, "coordinate"))
        return 0;
    CLEANUP_JSON json_t *point = take_alias(action, "coordinate");
    if (refuse_both(action, "coordinate", "x", "y", err) < 0)
        return -1;
    if (!json_is_array(point) || json_array_size(point) != 2)
        return error_set(err, ERROR_BAD_REQUEST, "\"coordinate\" must be [x, y]");
    json_object_set(action, "x", json_array_get(point, 0));
    json_object_set(action, "y", json_array_get(point, 1));
    return 0;
}

/* start_coordinate and coordinate of a drag, and points written as {"x": .., "y": ..} */
static int read_drag(const struct action_op *op, json_t *action, struct error *err)
{
    if (!find_field(op, "path"))
        return 0;
    if (json_object_get(action, "start_coordinate") || json_object_get(action, "coordinate")) {
        CLEANUP_JSON json_t *from = take_alias(action, "start_coordinate");
        CLEANUP_JSON json_t *to = take_alias(action, "coordinate");
        if (refuse_both(action, "start_coordinate", "path", NULL, err) < 0)
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
            json_array_set_new(path, i, mcp_aliases_whole(pair));
        }
    }
    return 0;
}

/* scroll_direction with scroll_amount */
static int read_wheel(const struct action_op *op, json_t *action, struct error *err)
{
    static const struct {
        const char *word, *field;
        int sign;
    } directions[] = {{"up", "dy", -1}, {"down", "dy", 1}, {"left", "dx", -1}, {"right", "dx", 1}};
    if (!find_field(op, "dy") ||
        (!json_object_get(action, "scroll_direction") && !json_object_get(action, "scroll_amount")))
        return 0;
    CLEANUP_JSON json_t *direction = take_alias(action, "scroll_direction");
    CLEANUP_JSON json_t *amount = take_alias(action, "scroll_amount");
    if (refuse_both(action, "scroll_direction", "dx", "dy", err) < 0)
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
    const struct member *field = find_field(op, "duration_ms");
    if (!field || !json_object_get(action, "duration"))
        return 0;
    CLEANUP_JSON json_t *duration = take_alias(action, "duration");
    double seconds = json_number_value(duration);
    if (refuse_both(action, "duration", "duration_ms", NULL, err) < 0)
        return -1;
    if (!json_is_number(duration) || !(seconds >= 0 && seconds * 1000 <= (double)field->max))
        return error_set(err, ERROR_BAD_REQUEST, "\"duration\" is seconds, a number from 0 to %" PRId64,
                         field->max / 1000);
    json_object_set_new(action, "duration_ms", json_integer(llround(seconds * 1000)));
    return 0;
}

static const char *name_modifier(const char *name, size_t length)
{
    static const char *const names[] = {[MODIFIER_SHIFT] = "shift",
                                        [MODIFIER_CTRL] = "ctrl",
                                        [MODIFIER_ALT] = "alt",
                                        [MODIFIER_SUPER] = "super"};
    return names[keys_modifier(name, length)];
}

/* Adds the names joined by + to the list; false where one is no modifier. */
static bool add_modifiers(const char *names, json_t *list)
{
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, "+");
        const char *word = name_modifier(at, length);
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
    if (!find_field(op, "modifiers"))
        return 0;
    if (!find_field(op, "text") && json_object_get(action, "text")) {
        if (refuse_both(action, "text", "modifiers", NULL, err) < 0)
            return -1;
        alias = "text";
    }
    CLEANUP_JSON json_t *given = take_alias(action, alias);
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
    for (size_t i = 0; find_field(op, "keys") && i < COUNT(aliases); i++) {
        CLEANUP_JSON json_t *given = take_alias(action, aliases[i]);
        if (!given)
            continue;
        if (refuse_both(action, aliases[i], "keys", NULL, err) < 0)
            return -1;
        json_object_set(action, "keys", given);
    }
    return 0;
}

void mcp_aliases_region(json_t *action)
{
    json_t *box = json_object_get(action, "region");
    json_t *x = json_object_get(box, "x"), *y = json_object_get(box, "y");
    json_t *width = json_object_get(box, "width"), *height = json_object_get(box, "height");
    if (json_object_size(box) != 4 || !x || !y || !width || !height)
        return;
    CLEANUP_JSON json_t *numbers = json_pack("[O, O, O, O]", x, y, width, height);
    json_object_set_new(action, "region", mcp_aliases_whole(numbers));
}

typedef int alias_reader(const struct action_op *, json_t *, struct error *);

int mcp_aliases_read(const struct action_op *op, json_t *action, struct error *err)
{
    static alias_reader *const readers[] = {read_coordinate, read_drag,      read_wheel,
                                            read_duration,   read_modifiers, read_keys};
    mcp_aliases_region(action);
    for (size_t i = 0; i < COUNT(readers); i++)
        if (readers[i](op, action, err) < 0)
            return -1;
    return 0;
}

const struct action_op *mcp_aliases_op(const char *name)
{
    static const char *const others[][2] = {
        {"left_click", "click"},           {"left_click_drag", "drag"},   {"mouse_move", "move"},
        {"left_mouse_down", "mouse_down"}, {"left_mouse_up", "mouse_up"}, {"keypress", "key"},
    };
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(others[i][0], name) == 0)
            name = others[i][1];
    return action_find(name);
}
