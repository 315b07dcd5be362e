#include "mcp/schema.h"

#include <string.h>

#include "base/text.h"
#include "mcp/scale.h"

static json_t *describe_schema(json_t *schema, const char *text)
{
    json_object_set_new(schema, "description", json_string(text));
    return schema;
}

static json_t *make_integer(int64_t min, int64_t max)
{
    return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)min, "maximum",
                     (json_int_t)max);
}

static json_t *make_words(const char *const *list)
{
    json_t *names = json_array();
    for (size_t i = 0; list[i]; i++)
        json_array_append_new(names, json_string(list[i]));
    return json_pack("{s:s, s:o}", "type", "string", "enum", names);
}

static json_t *make_array(json_t *items, int64_t min, int64_t max)
{
    return json_pack("{s:s, s:o, s:I, s:I}", "type", "array", "items", items, "minItems", (json_int_t)min,
                     "maxItems", (json_int_t)max);
}

static json_t *make_object(json_t *properties, json_t *required)
{
    json_t *schema =
        json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    return schema;
}

static json_t *make_size(const char *text)
{
    return describe_schema(make_object(json_pack("{s:o, s:o}", "width", make_integer(1, MCP_COORDINATE_MAX),
                                                 "height", make_integer(1, MCP_COORDINATE_MAX)),
                                       json_pack("[s, s]", "width", "height")),
                           text);
}

static json_t *make_region(void)
{
    return make_array(make_integer(0, MCP_COORDINATE_MAX), 4, 4);
}

static json_t *make_value(const struct member *field)
{
    switch (field->kind) {
    case MEMBER_INTEGER:
        return make_integer(field->min, field->max);
    case MEMBER_WORD:
        return make_words(field->words);
    case FIELD_TEXT:
        return json_pack("{s:s, s:I, s:I}", "type", "string", "minLength", (json_int_t)field->min,
                         "maxLength", (json_int_t)field->max);
    case FIELD_KEYS:
        return json_pack(
            "{s:[o, o]}", "anyOf", json_pack("{s:s, s:i}", "type", "string", "minLength", 1),
            make_array(json_pack("{s:s, s:i}", "type", "string", "minLength", 1), field->min, field->max));
    case FIELD_MODIFIERS:
        return make_array(make_words(field->words), 0, field->max);
    case FIELD_PATH:
        return make_array(make_array(make_integer(0, MCP_COORDINATE_MAX), 2, 2), field->min, field->max);
    case FIELD_REGION:
        return make_region();
    default:
        return json_object();
    }
}

static json_t *make_field(const struct member *field)
{
    json_t *schema = describe_schema(make_value(field), field->help);
    json_t *fallback = field->fallback ? json_loads(field->fallback, JSON_DECODE_ANY, NULL) : NULL;
    if (fallback)
        json_object_set_new(schema, "default", fallback);
    return schema;
}

/* The wider of two bounds of one name: "maximum" of duration_ms, "maxItems" of keys. */
static void widen_bounds(json_t *known, const json_t *other)
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
                widen_bounds(json_array_get(before, i), json_array_get(value, i));
    }
}

/* "for wait, hold_key: ..." is for a model to see which fields go with which op. */
static json_t *make_item(void)
{
    size_t count;
    const struct action_op *ops = action_ops(&count);
    json_t *properties = json_object(), *names = json_array(), *owners = json_object();
    json_object_set_new(
        properties, "op",
        describe_schema(json_pack("{s:s, s:o}", "type", "string", "enum", names), "what to do"));
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(names, json_string(ops[i].name));
        for (size_t j = 0; j < ops[i].field_count; j++) {
            const struct member *field = &ops[i].fields[j];
            json_t *schema = make_field(field), *known = json_object_get(properties, field->name);
            const char *before = json_string_value(json_object_get(owners, field->name));
            CLEANUP_FREE char *owner =
                text_format("%s%s%s", before ? before : "", before ? ", " : "", ops[i].name);
            json_object_set_new(owners, field->name, json_string(owner));
            if (known)
                widen_bounds(known, schema);
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
        describe_schema(schema, text);
        json_object_del(schema, "default"); /* it may be another one for each op */
    }
    json_decref(owners);
    return make_object(properties, json_pack("[s]", "op"));
}

json_t *mcp_schema_arguments(const struct member *fields, size_t count, bool screenshot, bool frame)
{
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct member *field = &fields[i];
        json_t *schema = field->kind == MCP_FIELD_ACTIONS
                             ? describe_schema(make_array(make_item(), field->min, field->max), field->help)
                             : make_field(field);
        json_object_set_new(properties, field->name, schema);
        if (!field->optional)
            json_array_append_new(required, json_string(field->name));
    }
    if (screenshot)
        json_object_set_new(
            properties, "screenshot",
            describe_schema(
                json_pack("{s:s, s:b}", "type", "boolean", "default", 0),
                "also answer a screenshot, taken once the screen is still: acts and looks in one call"));
    if (frame)
        json_object_set_new(
            properties, "frame",
            make_size("the size of the screen that the coordinates refer to, as \"frame\" of a screenshot "
                      "said; left out, it is that of the last screenshot"));
    return make_object(properties, required);
}

static json_t *make_kind(enum mcp_kind kind)
{
    static const char *const types[] = {[MCP_INTEGER] = "integer",
                                        [MCP_NUMBER] = "number",
                                        [MCP_BOOLEAN] = "boolean",
                                        [MCP_STRING] = "string",
                                        [MCP_OBJECT] = "object"};
    static const struct mcp_member picture[] = {MCP_PICTURE_MEMBERS, {0}};
    switch (kind) {
    case MCP_SIZE:
        return make_size("");
    case MCP_REGION:
        return make_region();
    case MCP_CHANGED:
        return make_array(json_pack("{s:s}", "type", "integer"), 4, 4);
    case MCP_PICTURE:
        return mcp_schema_result(picture);
    default:
        return json_pack("{s:s}", "type", types[kind]);
    }
}

/* Answers may gain members; so no additionalProperties: false. */
json_t *mcp_schema_result(const struct mcp_member *members)
{
    json_t *properties = json_object(), *required = json_array();
    for (const struct mcp_member *member = members; member->name; member++) {
        json_t *schema = describe_schema(make_kind(member->kind), member->help);
        const char *type = json_string_value(json_object_get(schema, "type"));
        if (member->nullable)
            json_object_set_new(schema, "type", json_pack("[s, s]", type, "null"));
        if (member->needed)
            json_array_append_new(required, json_string(member->name));
        json_object_set_new(properties, member->name, schema);
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required", required);
}
