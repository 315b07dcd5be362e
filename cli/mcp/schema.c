#include "mcp/schema.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "mcp/arguments.h"

static json_t *described(json_t *schema, const char *text)
{
    json_object_set_new(schema, "description", json_string(text));
    return schema;
}

static json_t *integer(int64_t min, int64_t max)
{
    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)min, "maximum",
                     (json_int_t)max);
}

static json_t *words(const char *const *list)
{
    json_t *names = json_array();
    for (size_t i = 0; list[i]; i++)
        json_array_append_new(names, json_string(list[i]));
    return json_pack("{s:s, s:o}", "type", "string", "enum", names);
}

static json_t *array_of(json_t *items, int64_t min, int64_t max)
{
    return json_pack("{s:s, s:o, s:I, s:I}", "type", "array", "items", items, "minItems", (json_int_t)min,
                     "maxItems", (json_int_t)max);
}

static json_t *object_of(json_t *properties, json_t *required)
{
    json_t *schema =
        json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

static json_t *size_schema(const char *text)
{
    return described(object_of(json_pack("{s:o, s:o}", "width", integer(1, MCP_COORDINATE_MAX), "height",
                                         integer(1, MCP_COORDINATE_MAX)),
                               json_pack("[s, s]", "width", "height")),
                     text);
}

static json_t *text_of(int64_t min, int64_t max)
{
    return json_pack("{s:s, s:I, s:I}", "type", "string", "minLength", (json_int_t)min, "maxLength",
                     (json_int_t)max);
}

static json_t *key_names(int64_t min, int64_t max)
{
    return json_pack("{s:[o, o]}", "anyOf", json_pack("{s:s, s:i}", "type", "string", "minLength", 1),
                     array_of(json_pack("{s:s, s:i}", "type", "string", "minLength", 1), min, max));
}

static json_t *region(void)
{
    return array_of(integer(0, MCP_COORDINATE_MAX), 4, 4);
}

static json_t *field_schema(const struct member *field)
{
    json_t *schema = NULL;
    switch (field->kind) {
    case MEMBER_INTEGER:
        schema = integer(field->min, field->max);
        break;
    case MEMBER_WORD:
        schema = words(field->words);
        break;
    case FIELD_TEXT:
        schema = text_of(field->min, field->max);
        break;
    case FIELD_KEYS:
        schema = key_names(field->min, field->max);
        break;
    case FIELD_MODIFIERS:
        schema = array_of(words(field->words), 0, field->max);
        break;
    case FIELD_PATH:
        schema = array_of(array_of(integer(0, MCP_COORDINATE_MAX), 2, 2), field->min, field->max);
        break;
    case FIELD_REGION:
        schema = region();
        break;
    }
    if (!schema)
        schema = json_object();
    described(schema, field->help);
    if (field->fallback) {
        json_t *fallback = json_loads(field->fallback, JSON_DECODE_ANY, NULL);
        if (fallback)
            json_object_set_new(schema, "default", fallback);
    }
    return schema;
}

static json_t *screenshot_flag(void)
{
    return described(json_pack("{s:s, s:b}", "type", "boolean", "default", 0),
                     "also answer a screenshot, taken once the screen is still: acts and looks in one call");
}

static json_t *frame(void)
{
    return size_schema("the size of the screen that the coordinates refer to, as \"frame\" of a screenshot "
                       "said; left out, it is that of the last screenshot");
}

static bool has_coordinates(const struct action_op *op)
{
    for (size_t i = 0; i < op->field_count; i++)
        if (strcmp(op->fields[i].name, "x") == 0 || op->fields[i].kind == FIELD_PATH ||
            op->fields[i].kind == FIELD_REGION)
            return true;
    return false;
}

json_t *mcp_schema_op(const struct action_op *op)
{
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < op->field_count; i++) {
        json_object_set_new(properties, op->fields[i].name, field_schema(&op->fields[i]));
        if (!op->fields[i].optional)
            json_array_append_new(required, json_string(op->fields[i].name));
    }
    json_object_set_new(properties, "screenshot", screenshot_flag());
    if (has_coordinates(op))
        json_object_set_new(properties, "frame", frame());
    return object_of(properties, required);
}

/* The wider of two bounds of one name: "maximum" of duration_ms, "maxItems" of keys. */
static void widen(json_t *known, const json_t *other)
{
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)other, key, value)
    {
        const json_t *before = json_object_get(known, key);
        bool upper = strncmp(key, "max", 3) == 0, lower = strncmp(key, "min", 3) == 0;
        if (json_is_integer(before) && ((upper && json_integer_value(value) > json_integer_value(before)) ||
                                        (lower && json_integer_value(value) < json_integer_value(before))))
            json_object_set(known, key, (json_t *)value);
        else if (json_is_array(before) && json_is_array(value) && strcmp(key, "anyOf") == 0)
            for (size_t i = 0; i < json_array_size(before); i++)
                widen(json_array_get(before, i), json_array_get(value, i));
    }
}

/* "for wait, hold_key: ..." is for a model to see which fields go with which op. */
static json_t *batch_item(void)
{
    size_t count;
    const struct action_op *ops = action_ops(&count);
    json_t *properties = json_object(), *names = json_array(), *owners = json_object();
    json_object_set_new(properties, "op",
                        described(json_pack("{s:s, s:o}", "type", "string", "enum", names), "what to do"));
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(names, json_string(ops[i].name));
        for (size_t j = 0; j < ops[i].field_count; j++) {
            const struct member *field = &ops[i].fields[j];
            json_t *schema = field_schema(field), *known = json_object_get(properties, field->name);
            const char *before = json_string_value(json_object_get(owners, field->name));
            char *owner = text_format("%s%s%s", before ? before : "", before ? ", " : "", ops[i].name);
            json_object_set_new(owners, field->name, json_string(owner));
            free(owner);
            if (known)
                widen(known, schema);
            else
                json_object_set(properties, field->name, schema);
            json_decref(schema);
        }
    }
    const char *name;
    const json_t *owner;
    json_object_foreach(owners, name, owner)
    {
        json_t *schema = json_object_get(properties, name);
        CLEANUP_FREE char *text =
            text_format("%s. For %s", json_string_value(json_object_get(schema, "description")),
                        json_string_value(owner));
        described(schema, text);
        json_object_del(schema, "default"); /* it may be another one for each op */
    }
    json_decref(owners);
    return object_of(properties, json_pack("[s]", "op"));
}

json_t *mcp_schema_batch(void)
{
    return object_of(
        json_pack("{s:o, s:o, s:o}", "actions",
                  described(array_of(batch_item(), 1, MCP_ACTIONS_MAX),
                            "done in order until the first that fails; all are checked before the first"),
                  "screenshot", screenshot_flag(), "frame", frame()),
        json_pack("[s]", "actions"));
}

json_t *mcp_schema_zoom(void)
{
    return object_of(
        json_pack("{s:o, s:o}", "region",
                  described(region(), "[x, y, width, height] in pixels of the last screenshot: the "
                                      "upper left corner and the size, not two corners"),
                  "frame", frame()),
        json_pack("[s]", "region"));
}

json_t *mcp_schema_screenshot(void)
{
    return object_of(
        json_pack(
            "{s:o}", "settle_ms",
            described(integer(0, MCP_SETTLE_MAX_MS),
                      "first wait until the screen has been still for so long, milliseconds; one that is "
                      "not in 5 seconds more is shown as it is")),
        json_array());
}

json_t *mcp_schema_nothing(void)
{
    return object_of(json_object(), json_array());
}

/* Results may gain members; so no additionalProperties: false. */
static json_t *open_object(json_t *properties, json_t *required)
{
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", required);
}

static json_t *plain(const char *type, const char *text)
{
    return described(json_pack("{s:s}", "type", type), text);
}

static json_t *picture_properties(void)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "width", plain("integer", "of the picture, pixels"), "height",
        plain("integer", "of the picture, pixels"), "frame", size_schema("the size of the screen"), "scale",
        plain("number", "pixels of the picture for one pixel of the screen"), "still",
        plain("boolean", "false where the screen was still changing when the time for it was over"));
}

json_t *mcp_schema_picture(void)
{
    return open_object(picture_properties(), json_pack("[s, s, s, s]", "width", "height", "frame", "scale"));
}

json_t *mcp_schema_part(void)
{
    json_t *properties = picture_properties();
    json_object_set_new(
        properties, "region",
        described(region(), "what it shows: [x, y, width, height] in pixels of the last screenshot"));
    return open_object(properties,
                       json_pack("[s, s, s, s, s]", "width", "height", "frame", "scale", "region"));
}

json_t *mcp_schema_done(void)
{
    json_t *changed = array_of(json_pack("{s:s}", "type", "integer"), 4, 4);
    json_object_set_new(changed, "type", json_pack("[s, s]", "array", "null"));
    return open_object(
        json_pack(
            "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "done", plain("integer", "how many actions were done"),
            "frame", size_schema("the size of the screen"), "changed",
            described(changed, "where the screen changed: [x, y, width, height] in pixels of the last "
                               "screenshot, or null where it did not"),
            "settled_ms",
            plain("integer", "milliseconds from the last action to the last change seen; 0 where there "
                             "was none"),
            "x", plain("integer", "of the pointer, for cursor_position, in pixels of the last screenshot"),
            "y", plain("integer", "as x"), "picture",
            described(mcp_schema_picture(), "of the screenshot, where one was asked for")),
        json_pack("[s, s]", "done", "frame"));
}

json_t *mcp_schema_status(void)
{
    json_t *lease = plain("object", "the lease in use, or null: its id, state, shape and times");
    json_object_set_new(lease, "type", json_pack("[s, s]", "object", "null"));
    return open_object(
        json_pack("{s:o, s:o, s:o, s:o}", "lease", lease, "seconds_left",
                  described(json_pack("{s:[s, s]}", "type", "integer", "null"),
                            "until the lease ends by itself; null where nothing limits it"),
                  "screen",
                  described(json_pack("{s:[s, s]}", "type", "object", "null"),
                            "size of the screen and of its picture in the last screenshot, or null"),
                  "note", plain("string", "what to do where there is no lease")),
        json_pack("[s]", "lease"));
}

json_t *mcp_schema_receipt(void)
{
    return open_object(json_pack("{s:o, s:o, s:o, s:o}", "lease_id",
                                 plain("string", "the lease that has ended"), "occupancy_seconds",
                                 plain("integer", "how long it was held"), "billed_seconds",
                                 plain("integer", "what counts, at least the minimum"), "reason",
                                 plain("string", "why it ended")),
                       json_pack("[s, s]", "lease_id", "occupancy_seconds"));
}
