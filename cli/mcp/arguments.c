#include "mcp/arguments.h"

#include <inttypes.h>

#include "base/document.h"
#include "mcp/aliases.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

json_t *mcp_arguments_own(const json_t *arguments)
{
    json_t *own = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)arguments, key, value) if (!json_is_null(value))
        json_object_set_new(own, key, mcp_aliases_whole(value));
    return own;
}

int mcp_arguments_size(const json_t *size, int32_t *width, int32_t *height, struct error *err)
{
    int64_t wide, high;
    if (document_integer(size, "width", 1, MCP_COORDINATE_MAX, &wide, err) < 0 ||
        document_integer(size, "height", 1, MCP_COORDINATE_MAX, &high, err) < 0)
        return -1;
    *width = (int32_t)wide;
    *height = (int32_t)high;
    return 0;
}

static int read_frame(const json_t *arguments, const struct mcp_scale *last, struct mcp_scale *scale,
                      struct error *err)
{
    const json_t *frame = json_object_get(arguments, "frame");
    int32_t width, height;
    *scale = *last;
    if (!frame || json_is_null(frame))
        return 0;
    if (mcp_arguments_size(frame, &width, &height, err) < 0 ||
        document_keys(frame, (const char *const[]){"width", "height", NULL}, err) < 0)
        return error_prefix(err, "\"frame\"");
    if (width != last->frame_width || height != last->frame_height)
        *scale = mcp_scale_of(width, height);
    return 0;
}

/* The arguments that are not the action's own. */
static int read_asked(const json_t *arguments, const struct mcp_scale *last, struct mcp_asked *asked,
                      struct error *err)
{
    const json_t *screenshot = json_object_get(arguments, "screenshot");
    *asked = (struct mcp_asked){.screenshot = json_is_true(screenshot)};
    if (screenshot && !json_is_boolean(screenshot) && !json_is_null(screenshot))
        return error_set(err, ERROR_BAD_REQUEST, "the field \"screenshot\" must be true or false");
    return read_frame(arguments, last, &asked->scale, err);
}

/* A point of the picture becomes that of the screen, in place; what is none is left to the node. */
static int map_point(const struct mcp_scale *scale, json_t *x, json_t *y, struct error *err)
{
    if (!json_is_integer(x) || !json_is_integer(y))
        return 0;
    int64_t given_x = json_integer_value(x), given_y = json_integer_value(y);
    int32_t at_x = (int32_t)given_x, at_y = (int32_t)given_y;
    if (given_x < 0 || given_y < 0 || given_x >= scale->picture_width || given_y >= scale->picture_height)
        return error_set(err, ERROR_BAD_REQUEST,
                         "the point %" PRId64 ",%" PRId64
                         " is outside the screenshot, which is %dx%d: x is 0 to %d, y 0 to %d",
                         given_x, given_y, scale->picture_width, scale->picture_height,
                         scale->picture_width - 1, scale->picture_height - 1);
    mcp_scale_to_screen(scale, &at_x, &at_y);
    json_integer_set(x, at_x);
    json_integer_set(y, at_y);
    return 0;
}

/* The same for a box. */
static int map_box(const struct mcp_scale *scale, struct mcp_box *box, struct error *err)
{
    if ((int64_t)box->x + box->width > scale->picture_width ||
        (int64_t)box->y + box->height > scale->picture_height)
        return error_set(
            err, ERROR_BAD_REQUEST,
            "the region [%d, %d, %d, %d] goes beyond the screenshot, which is %dx%d; it is [x, y, width, "
            "height], not two corners",
            box->x, box->y, box->width, box->height, scale->picture_width, scale->picture_height);
    *box = mcp_scale_box_to_screen(scale, *box);
    return 0;
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

json_t *mcp_arguments_box(struct mcp_box box)
{
    return json_pack("[i, i, i, i]", box.x, box.y, box.width, box.height);
}

/* Coordinates of the picture become those of the screen. */
static int map_action(const struct mcp_scale *scale, json_t *action, struct error *err)
{
    struct mcp_box box;
    size_t i;
    json_t *point;
    if (!scale->picture_width)
        return 0;
    if (map_point(scale, json_object_get(action, "x"), json_object_get(action, "y"), err) < 0)
        return -1;
    json_array_foreach(json_object_get(action, "path"), i, point)
    {
        if (map_point(scale, json_array_get(point, 0), json_array_get(point, 1), err) < 0)
            return -1;
    }
    if (!read_box(json_object_get(action, "region"), &box))
        return 0;
    if (map_box(scale, &box, err) < 0)
        return -1;
    json_object_set_new(action, "region", mcp_arguments_box(box));
    return 0;
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
    CLEANUP_JSON json_t *own = mcp_arguments_own(arguments);
    json_object_del(own, "op");
    json_object_update(action, own);
    struct action decoded = {.kind = ACTION_WAIT};
    struct error reason = ERROR_INIT;
    if (mcp_aliases_read(op, action, err) < 0) {
        error_prefix(err, "the action %s", op->name);
        return NULL;
    }
    if (action_decode(action, &decoded, &reason) < 0 && reason.code != ERROR_UNTYPABLE) {
        *err = reason;
        return NULL;
    }
    asked->duration_ms += own_duration(&decoded);
    action_clear(&decoded);
    if (map_action(&asked->scale, action, err) < 0) {
        error_prefix(err, "the action %s", op->name);
        return NULL;
    }
    return TAKE(action);
}

json_t *mcp_arguments_action(const struct action_op *op, const json_t *arguments,
                             const struct mcp_scale *last, struct mcp_asked *asked, struct error *err)
{
    if (read_asked(arguments, last, asked, err) < 0)
        return NULL;
    CLEANUP_JSON json_t *own = json_copy((json_t *)arguments);
    json_object_del(own, "screenshot");
    json_object_del(own, "frame");
    return make_action(op, own, asked, err);
}

/* The op of one action of a batch. */
static const struct action_op *read_op(const json_t *item, struct error *err)
{
    const char *name = json_string_value(json_object_get(item, "op"));
    if (!name)
        name = json_string_value(json_object_get(item, "action"));
    const struct action_op *op = name ? mcp_aliases_op(name) : NULL;
    if (op)
        return op;
    /* The decoder has the sentence with all the names. */
    struct action none = {.kind = ACTION_WAIT};
    CLEANUP_JSON json_t *wrong = name ? json_pack("{s:s}", "op", name) : json_object();
    if (action_decode(wrong, &none, err) == 0)
        action_clear(&none);
    return NULL;
}

json_t *mcp_arguments_batch(const json_t *arguments, const struct mcp_scale *last, struct mcp_asked *asked,
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
        const struct action_op *op = read_op(item, err);
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

int mcp_arguments_region(const json_t *arguments, const struct mcp_scale *last, struct mcp_asked *asked,
                         struct mcp_box *given, struct mcp_box *on_screen, struct error *err)
{
    CLEANUP_JSON json_t *own = mcp_arguments_own(arguments);
    mcp_aliases_region(own);
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
    return asked->scale.picture_width ? map_box(&asked->scale, on_screen, err) : 0;
}

int mcp_arguments_none(const json_t *arguments, struct error *err)
{
    if (json_object_size(arguments) == 0)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "this tool takes no arguments");
}
