/*
 * The table of actions against everything that is made from it or written about it: what HTTP takes, the
 * tools' schemas, docs/SESSION.md and `berth act --help`.
 */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "mcp/revision.h"
#include "mcp/tools.h"
#include "protocol/action.h"

extern const struct command command_act;

static json_t *listed(const char *revision)
{
    return mcp_tools_list(mcp_revision_find(revision));
}

/* The tool of a name in a list, borrowed. */
static json_t *tool_of(const json_t *list, const char *name)
{
    size_t i;
    json_t *tool;
    json_array_foreach(json_object_get(list, "tools"), i, tool)
    {
        if (strcmp(json_string_value(json_object_get(tool, "name")), name) == 0)
            return tool;
    }
    fail_msg("there is no tool %s", name);
    return NULL;
}

static int64_t number(const json_t *schema, const char *key)
{
    const json_t *value = json_object_get(schema, key);
    if (!json_is_integer(value))
        fail_msg("the schema has no whole number \"%s\"", key);
    return json_integer_value(value);
}

static void same_words(const json_t *schema, const char *const *words)
{
    const json_t *list = json_object_get(schema, "enum");
    size_t count = 0;
    for (; words[count]; count++)
        assert_string_equal(json_string_value(json_array_get(list, count)), words[count]);
    assert_int_equal(json_array_size(list), count);
}

static void field_is_described(const struct member *field, const json_t *schema)
{
    assert_string_equal(json_string_value(json_object_get(schema, "description")), field->help);
    const json_t *items = json_object_get(schema, "items"), *several;
    switch (field->kind) {
    case MEMBER_INTEGER:
        assert_int_equal(number(schema, "minimum"), field->min);
        assert_int_equal(number(schema, "maximum"), field->max);
        break;
    case MEMBER_WORD:
        same_words(schema, field->words);
        break;
    case FIELD_TEXT:
        assert_int_equal(number(schema, "minLength"), field->min);
        assert_int_equal(number(schema, "maxLength"), field->max);
        break;
    case FIELD_KEYS:
        several = json_array_get(json_object_get(schema, "anyOf"), 1);
        assert_int_equal(number(several, "minItems"), field->min);
        assert_int_equal(number(several, "maxItems"), field->max);
        break;
    case FIELD_MODIFIERS:
        same_words(items, field->words);
        assert_int_equal(number(schema, "maxItems"), field->max);
        break;
    case FIELD_PATH:
        assert_int_equal(number(schema, "minItems"), field->min);
        assert_int_equal(number(schema, "maxItems"), field->max);
        assert_int_equal(number(items, "minItems"), 2);
        break;
    case FIELD_REGION:
        assert_int_equal(number(schema, "minItems"), 4);
        break;
    }
}

static bool in_list(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), word) == 0)
            return true;
    return false;
}

static void every_op_is_a_tool_with_its_fields(void **state)
{
    (void)state;
    size_t count;
    const struct action_op *ops = action_ops(&count);
    CLEANUP_JSON json_t *list = listed("2025-11-25");
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *name = text_format("berth_%s", ops[i].name);
        const json_t *tool = tool_of(list, name);
        const json_t *schema = json_object_get(tool, "inputSchema");
        const json_t *properties = json_object_get(schema, "properties");
        size_t own = 1 + (json_object_get(properties, "frame") != NULL); /* screenshot, frame */
        assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
        assert_int_equal(json_object_size(properties), ops[i].field_count + own);
        assert_true(text_starts(json_string_value(json_object_get(tool, "description")), ops[i].help));
        for (size_t j = 0; j < ops[i].field_count; j++) {
            const struct member *field = &ops[i].fields[j];
            const json_t *described = json_object_get(properties, field->name);
            if (!described)
                fail_msg("%s has no \"%s\"", name, field->name);
            field_is_described(field, described);
            assert_int_equal(in_list(json_object_get(schema, "required"), field->name), !field->optional);
        }
    }
    assert_int_equal(json_array_size(json_object_get(list, "tools")), count + 5);
}

/* A value that a schema's bounds allow, as far out as they go. */
static json_t *allowed(const json_t *schema, bool most)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    const json_t *words = json_object_get(schema, "enum"), *any = json_object_get(schema, "anyOf");
    if (any)
        return json_string("a");
    if (words)
        return json_incref(json_array_get(words, 0));
    if (strcmp(type, "integer") == 0)
        return json_integer(number(schema, most ? "maximum" : "minimum"));
    if (strcmp(type, "string") == 0)
        return json_string("a");
    json_t *array = json_array();
    int64_t length = number(schema, most ? "maxItems" : "minItems");
    for (int64_t i = 0; i < length; i++)
        json_array_append_new(array, allowed(json_object_get(schema, "items"), i >= 2 || most));
    return array;
}

/* One beyond a bound, or NULL where the schema has none. */
static json_t *beyond(const json_t *schema, bool most)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    const json_t *words = json_object_get(schema, "enum");
    if (words)
        return json_string("no-such-word");
    if (type && strcmp(type, "integer") == 0)
        return json_integer(most ? number(schema, "maximum") + 1 : number(schema, "minimum") - 1);
    if (type && strcmp(type, "array") == 0) {
        json_t *array = json_array();
        int64_t length = most ? number(schema, "maxItems") + 1 : number(schema, "minItems") - 1;
        for (int64_t i = 0; i < length; i++)
            json_array_append_new(array, allowed(json_object_get(schema, "items"), false));
        if (length >= 0)
            return array;
        json_decref(array);
    }
    return NULL;
}

/* Whether HTTP takes an action: what is refused as untypable has the right form. */
static bool http_takes(const json_t *action, struct error *err)
{
    struct action decoded = {.kind = ACTION_WAIT};
    struct error reason = ERROR_INIT;
    int status = action_decode(action, &decoded, &reason);
    action_clear(&decoded);
    *err = reason;
    return status == 0 || reason.code == ERROR_UNTYPABLE;
}

/* The smallest action of an op by its tool's schema; wait and scroll need one of their optional fields too.
 */
static json_t *smallest(const struct action_op *op, const json_t *schema)
{
    json_t *action = json_pack("{s:s}", "op", op->name);
    for (size_t i = 0; i < op->field_count; i++) {
        const char *name = op->fields[i].name;
        if (!op->fields[i].optional || (op->kind == ACTION_WAIT && strcmp(name, "duration_ms") == 0))
            json_object_set_new(action, name,
                                allowed(json_object_get(json_object_get(schema, "properties"), name), false));
    }
    if (op->kind == ACTION_SCROLL)
        json_object_set_new(action, "dy", json_integer(1));
    return action;
}

/* "With until only", and the like: fields that need others beside them. */
static void add_companions(const struct action_op *op, const char *field, json_t *action)
{
    bool waits = op->kind == ACTION_WAIT && strcmp(field, "duration_ms") != 0;
    if (waits)
        json_object_del(action, "duration_ms");
    if (waits && strcmp(field, "until") != 0)
        json_object_set_new(action, "until", json_string("change"));
    if (op->kind == ACTION_MOUSE_DOWN || op->kind == ACTION_MOUSE_UP) {
        json_object_set_new(action, "x", json_integer(1));
        json_object_set_new(action, "y", json_integer(1));
    }
}

static void http_takes_what_the_schemas_allow_and_nothing_else(void **state)
{
    (void)state;
    size_t count;
    const struct action_op *ops = action_ops(&count);
    CLEANUP_JSON json_t *list = listed("2025-11-25");
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *name = text_format("berth_%s", ops[i].name);
        const json_t *schema = json_object_get(tool_of(list, name), "inputSchema");
        struct error err;
        CLEANUP_JSON json_t *action = smallest(&ops[i], schema);
        if (!http_takes(action, &err))
            fail_msg("HTTP refuses the smallest %s: %s", ops[i].name, err.text);
        for (size_t j = 0; j < ops[i].field_count; j++)
            for (int most = 0; most < 2; most++) {
                const struct member *field = &ops[i].fields[j];
                const json_t *one = json_object_get(json_object_get(schema, "properties"), field->name);
                CLEANUP_JSON json_t *trial = json_deep_copy(action);
                add_companions(&ops[i], field->name, trial);
                json_object_set_new(trial, field->name, allowed(one, most));
                if (!http_takes(trial, &err) && !strstr(err.text, "how many notches"))
                    fail_msg("HTTP refuses %s: %s", document_text(trial), err.text);
                json_t *outside = beyond(one, most);
                if (!outside)
                    continue;
                json_object_set_new(trial, field->name, outside);
                if (http_takes(trial, &err))
                    fail_msg("HTTP takes %s, which the schema does not allow", document_text(trial));
            }
        json_object_set_new(action, "no_such_field", json_integer(1));
        assert_false(http_takes(action, &err));
    }
}

static void every_field_is_in_the_batch(void **state)
{
    (void)state;
    size_t count;
    const struct action_op *ops = action_ops(&count);
    CLEANUP_JSON json_t *list = listed("2025-11-25");
    const json_t *schema = json_object_get(tool_of(list, "berth_batch"), "inputSchema");
    const json_t *item =
        json_object_get(json_object_get(json_object_get(schema, "properties"), "actions"), "items");
    const json_t *properties = json_object_get(item, "properties");
    for (size_t i = 0; i < count; i++) {
        assert_true(in_list(json_object_get(json_object_get(properties, "op"), "enum"), ops[i].name));
        for (size_t j = 0; j < ops[i].field_count; j++) {
            const struct member *field = &ops[i].fields[j];
            const json_t *one = json_object_get(properties, field->name);
            assert_non_null(one);
            if (field->kind == MEMBER_INTEGER) { /* the widest bounds of the name */
                assert_true(number(one, "minimum") <= field->min);
                assert_true(number(one, "maximum") >= field->max);
            }
            assert_non_null(strstr(json_string_value(json_object_get(one, "description")), ops[i].name));
        }
    }
}

/* The row of an op in a text with a line for each: SESSION.md's table, or the command's help. */
static char *row_of(const char *text, const char *name)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        size_t length = strcspn(line, "\n");
        CLEANUP_FREE char *row = text_format("%.*s", (int)length, line);
        CLEANUP_FREE char *quoted = text_format("`%s`", name);
        const char *cell = strstr(row, quoted), *second = strlen(row) > 2 ? strchr(row + 2, '|') : NULL;
        if (row[0] == '|' && cell && second && cell < second)
            return TAKE(row);
    }
    return NULL;
}

static void docs_have_the_same_fields_and_bounds(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    size_t count;
    const struct action_op *ops = action_ops(&count);
    CLEANUP_FREE char *path = file_join(getenv("BERTHOS_SOURCE_DIR"), "docs/SESSION.md");
    CLEANUP_FREE char *text = NULL;
    if (file_read(path, 1 << 20, &text, NULL, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *row = row_of(text, ops[i].name);
        if (!row)
            fail_msg("the table of docs/SESSION.md has no row for %s", ops[i].name);
        for (size_t j = 0; j < ops[i].field_count; j++) {
            const struct member *field = &ops[i].fields[j];
            /* an optional one is written `name?` */
            CLEANUP_FREE char *cell = text_format("`%s%s`", field->name, field->optional ? "?" : "");
            if (!strstr(row, cell))
                fail_msg("docs/SESSION.md does not have %s in: %s", cell, row);
            CLEANUP_FREE char *most = text_format("%" PRId64, field->max);
            bool told = field->kind == FIELD_TEXT || field->kind == FIELD_PATH || field->kind == FIELD_KEYS ||
                        strcmp(field->name, "count") == 0 || strcmp(field->name, "repeat") == 0 ||
                        strcmp(field->name, "dx") == 0 || strcmp(field->name, "duration_ms") == 0;
            if (told && !strstr(row, most))
                fail_msg("docs/SESSION.md does not tell the bound %s of %s in: %s", most, field->name, row);
        }
    }
}

/* The help folds its lines: blanks of any kind and number count as one. */
static char *unfolded(const char *text)
{
    char *line = text_copy(text), *to = line;
    for (const char *from = text; *from; from++)
        if (*from != ' ' && *from != '\n')
            *to++ = *from;
        else if (to > line && to[-1] != ' ')
            *to++ = ' ';
    *to = '\0';
    return line;
}

static void the_commands_help_has_the_same_ops(void **state)
{
    (void)state;
    size_t count;
    const struct action_op *ops = action_ops(&count);
    CLEANUP_FREE char *folded = usage_doc(&command_act.usage);
    CLEANUP_FREE char *help = unfolded(folded);
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *row = text_format(" %s", ops[i].name);
        for (size_t j = 0; j < ops[i].field_count; j++) {
            CLEANUP_FREE char *before = row;
            row = text_format("%s %s%s", before, ops[i].fields[j].name, ops[i].fields[j].optional ? "?" : "");
        }
        CLEANUP_FREE char *end = text_format("%s ", row);
        if (!strstr(help, end))
            fail_msg("berth act --help does not have:%s", row);
    }
}

static void what_a_revision_has(void **state)
{
    (void)state;
    static const struct {
        const char *revision;
        bool annotations, structured;
    } rows[] = {{"2024-11-05", false, false},
                {"2025-03-26", true, false},
                {"2025-06-18", true, true},
                {"2025-11-25", true, true},
                {"2026-07-28", true, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CLEANUP_JSON json_t *list = listed(rows[i].revision);
        size_t j;
        json_t *tool;
        json_array_foreach(json_object_get(list, "tools"), j, tool)
        {
            assert_int_equal(json_object_get(tool, "annotations") != NULL, rows[i].annotations);
            assert_int_equal(json_object_get(tool, "outputSchema") != NULL, rows[i].structured);
            assert_int_equal(json_object_get(tool, "title") != NULL, rows[i].structured);
        }
    }
}

static void annotations_are_complete_and_true(void **state)
{
    (void)state;
    static const char *const looking[] = {"berth_screenshot", "berth_zoom", "berth_wait",
                                          "berth_cursor_position", "berth_status"};
    CLEANUP_JSON json_t *list = listed("2026-07-28");
    size_t i;
    json_t *tool;
    json_array_foreach(json_object_get(list, "tools"), i, tool)
    {
        const json_t *hints = json_object_get(tool, "annotations");
        const char *name = json_string_value(json_object_get(tool, "name"));
        bool looks = false;
        for (size_t j = 0; j < sizeof looking / sizeof looking[0]; j++)
            looks = looks || strcmp(looking[j], name) == 0;
        assert_int_equal(json_is_true(json_object_get(hints, "readOnlyHint")), looks);
        assert_true(json_is_boolean(json_object_get(hints, "destructiveHint")));
        assert_true(json_is_boolean(json_object_get(hints, "idempotentHint")));
        assert_true(json_is_false(json_object_get(hints, "openWorldHint")));
        if (looks)
            assert_true(json_is_false(json_object_get(hints, "destructiveHint")));
    }
    const json_t *end = json_object_get(tool_of(list, "berth_end"), "annotations");
    assert_true(json_is_true(json_object_get(end, "destructiveHint")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_a_tool_with_its_fields),
        cmocka_unit_test(http_takes_what_the_schemas_allow_and_nothing_else),
        cmocka_unit_test(every_field_is_in_the_batch),
        cmocka_unit_test(docs_have_the_same_fields_and_bounds),
        cmocka_unit_test(the_commands_help_has_the_same_ops),
        cmocka_unit_test(what_a_revision_has),
        cmocka_unit_test(annotations_are_complete_and_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
