/* What models send, and what a node is given of it. */
#include "unit.h"

#include <string.h>

#include "base/document.h"
#include "mcp/arguments.h"

static const struct mcp_scale unknown;

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *value = document_parse(text, strlen(text), &err);
    if (!value)
        fail_msg("%s: %s", text, err.text);
    return value;
}

/* One action, seen through a scale. */
static void gives_through(const struct mcp_scale *scale, const char *op, const char *arguments,
                          const char *expected)
{
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    CLEANUP_JSON json_t *given = parse(arguments);
    CLEANUP_JSON json_t *wanted = parse(expected);
    json_object_set_new(wanted, "op", json_string(op));
    CLEANUP_JSON json_t *action = mcp_arguments_action(action_find(op), given, scale, &asked, &err);
    if (!action)
        fail_msg("%s %s: %s", op, arguments, err.text);
    if (!json_equal(action, wanted))
        fail_msg("%s %s gives %s", op, arguments, document_text(action));
}

static void gives(const char *op, const char *arguments, const char *expected)
{
    gives_through(&unknown, op, arguments, expected);
}

static void refuses_through(const struct mcp_scale *scale, const char *op, const char *arguments,
                            const char *says)
{
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    CLEANUP_JSON json_t *given = parse(arguments);
    CLEANUP_JSON json_t *action = mcp_arguments_action(action_find(op), given, scale, &asked, &err);
    if (action)
        fail_msg("%s takes %s", op, arguments);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    if (!strstr(err.text, says))
        fail_msg("%s %s: \"%s\" does not say \"%s\"", op, arguments, err.text, says);
}

static void refuses(const char *op, const char *arguments, const char *says)
{
    refuses_through(&unknown, op, arguments, says);
}

static void the_tables_own_fields_pass(void **state)
{
    (void)state;
    gives("click", "{\"x\": 1, \"y\": 2, \"button\": \"right\", \"count\": 2, \"modifiers\": [\"ctrl\"]}",
          "{\"x\": 1, \"y\": 2, \"button\": \"right\", \"count\": 2, \"modifiers\": [\"ctrl\"]}");
    gives("type", "{\"text\": \"a b\"}", "{\"text\": \"a b\"}");
    gives("key", "{\"keys\": \"ctrl+s\"}", "{\"keys\": \"ctrl+s\"}");
    gives("cursor_position", "{}", "{}");
    gives("click", "{\"x\": 640.0, \"y\": 400.0, \"button\": null, \"screenshot\": false}",
          "{\"x\": 640, \"y\": 400}");
    /* the op is the tool's, whatever the arguments say */
    gives("move", "{\"op\": \"type\", \"x\": 1, \"y\": 2}", "{\"x\": 1, \"y\": 2}");
}

static void other_spellings(void **state)
{
    (void)state;
    gives("click", "{\"coordinate\": [3, 4]}", "{\"x\": 3, \"y\": 4}");
    gives("mouse_down", "{\"coordinate\": [3, 4]}", "{\"x\": 3, \"y\": 4}");
    gives("click", "{\"coordinate\": [3, 4], \"text\": \"ctrl+shift\"}",
          "{\"x\": 3, \"y\": 4, \"modifiers\": [\"ctrl\", \"shift\"]}");
    gives("click", "{\"x\": 3, \"y\": 4, \"modifiers\": \"cmd\"}",
          "{\"x\": 3, \"y\": 4, \"modifiers\": [\"super\"]}");
    gives("click", "{\"x\": 3, \"y\": 4, \"modifiers\": [\"Control\", \"option\"]}",
          "{\"x\": 3, \"y\": 4, \"modifiers\": [\"ctrl\", \"alt\"]}");
    gives("drag", "{\"start_coordinate\": [1, 2], \"coordinate\": [3, 4]}", "{\"path\": [[1, 2], [3, 4]]}");
    gives("drag", "{\"path\": [{\"x\": 1, \"y\": 2}, {\"x\": 3.0, \"y\": 4}]}",
          "{\"path\": [[1, 2], [3, 4]]}");
    gives("scroll", "{\"coordinate\": [1, 2], \"scroll_direction\": \"down\", \"scroll_amount\": 5}",
          "{\"x\": 1, \"y\": 2, \"dy\": 5}");
    gives("scroll",
          "{\"x\": 1, \"y\": 2, \"scroll_direction\": \"up\", \"scroll_amount\": 3, \"text\": \"shift\"}",
          "{\"x\": 1, \"y\": 2, \"dy\": -3, \"modifiers\": [\"shift\"]}");
    gives("scroll", "{\"x\": 1, \"y\": 2, \"scroll_direction\": \"left\", \"scroll_amount\": 3}",
          "{\"x\": 1, \"y\": 2, \"dx\": -3}");
    gives("wait", "{\"duration\": 1.5}", "{\"duration_ms\": 1500}");
    gives("hold_key", "{\"text\": \"shift\", \"duration\": 2}",
          "{\"keys\": \"shift\", \"duration_ms\": 2000}");
    gives("key", "{\"text\": \"ctrl+l\"}", "{\"keys\": \"ctrl+l\"}");
    gives("key", "{\"key\": \"Return\"}", "{\"keys\": \"Return\"}");
    gives("wait", "{\"until\": \"change\", \"region\": {\"x\": 1, \"y\": 2, \"width\": 3, \"height\": 4}}",
          "{\"until\": \"change\", \"region\": [1, 2, 3, 4]}");
}

static void refusals_say_what_is_right(void **state)
{
    (void)state;
    refuses("click", "{\"x\": 1}", "\"y\" is missing");
    refuses("click", "{\"x\": \"1\", \"y\": 2}", "\"x\" must be a whole number from 0 to");
    refuses("click", "{\"x\": 1.5, \"y\": 2}", "whole number");
    refuses("click", "{\"x\": 1, \"y\": 2, \"colour\": 3}",
            "\"colour\" is not known here; known are: op, x, y");
    refuses("click", "{\"x\": 1, \"y\": 2, \"coordinate\": [1, 2]}", "either \"coordinate\" or \"x\"");
    refuses("click", "{\"coordinate\": [1]}", "\"coordinate\" must be [x, y]");
    refuses("click", "{\"x\": 1, \"y\": 2, \"text\": \"hello\"}", "ctrl, alt, shift, super, joined by +");
    refuses("click", "{\"x\": 1, \"y\": 2, \"button\": \"up\"}", "left, middle, right");
    refuses("click", "{\"x\": 1, \"y\": 2, \"screenshot\": \"yes\"}", "true or false");
    refuses("click", "{\"x\": 1, \"y\": 2, \"frame\": {\"width\": 5}}", "\"height\"");
    refuses("drag", "{\"coordinate\": [1, 2]}", "\"start_coordinate\" and \"coordinate\" together");
    refuses("drag", "{\"path\": [[1, 2]]}", "2 to 256");
    refuses("scroll", "{\"x\": 1, \"y\": 2, \"scroll_direction\": \"down\"}", "\"scroll_amount\" 1 to 100");
    refuses("scroll", "{\"x\": 1, \"y\": 2, \"scroll_direction\": \"down\", \"scroll_amount\": 0}",
            "1 to 100");
    refuses("wait", "{\"duration\": 301}", "seconds, a number from 0 to 300");
    refuses("wait", "{\"duration\": -1}", "seconds");
    refuses("wait", "{}", "\"duration_ms\" or \"until\"");
    refuses("key", "{\"keys\": \"nokey\"}", "nokey");
    refuses("key", "{\"keys\": \"a\", \"text\": \"b\"}", "either \"text\" or \"keys\"");
    refuses("type", "{\"text\": \"\"}", "1 to 16384 characters");
    refuses("cursor_position", "{\"x\": 1}", "not known here");
}

/* What this guest can type is for the node to say. */
static void what_cannot_be_typed_is_left_to_the_node(void **state)
{
    (void)state;
    gives("type", "{\"text\": \"\xc3\xb1\"}", "{\"text\": \"\xc3\xb1\"}");
    gives("click", "{\"x\": 1, \"y\": 2, \"button\": \"back\"}",
          "{\"x\": 1, \"y\": 2, \"button\": \"back\"}");
}

static void coordinates_are_those_of_the_picture(void **state)
{
    (void)state;
    struct mcp_scale half = {
        .frame_width = 2000, .frame_height = 1000, .picture_width = 1000, .picture_height = 500};
    gives_through(&half, "click", "{\"x\": 0, \"y\": 499}", "{\"x\": 1, \"y\": 999}");
    gives_through(&half, "drag", "{\"path\": [[0, 0], [999, 499]]}", "{\"path\": [[1, 1], [1999, 999]]}");
    gives_through(&half, "wait", "{\"until\": \"still\", \"region\": [10, 20, 30, 40]}",
                  "{\"until\": \"still\", \"region\": [20, 40, 60, 80]}");
    refuses_through(&half, "click", "{\"x\": 1000, \"y\": 0}",
                    "1000,0 is outside the screenshot, which is 1000x500: x is 0 to 999, y 0 to 499");
    refuses_through(&half, "drag", "{\"path\": [[0, 0], [0, 500]]}", "outside the screenshot");
    refuses_through(&half, "wait", "{\"until\": \"still\", \"region\": [900, 20, 200, 40]}",
                    "not two corners");
    /* another screen than the last one: as its screenshot was */
    gives_through(&half, "click", "{\"x\": 1279, \"y\": 799, \"frame\": {\"width\": 1280, \"height\": 800}}",
                  "{\"x\": 1279, \"y\": 799}");
    refuses_through(&half, "click", "{\"x\": 1280, \"y\": 0, \"frame\": {\"width\": 1280, \"height\": 800}}",
                    "1280x800");
}

static void batches(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    CLEANUP_JSON json_t *good =
        parse("{\"screenshot\": true, \"actions\": [{\"op\": \"click\", \"coordinate\": [1, 2]},"
              "{\"action\": \"left_click\", \"x\": 3, \"y\": 4}, {\"op\": \"wait\", \"duration\": 1},"
              "{\"op\": \"hold_key\", \"keys\": \"a\", \"duration_ms\": 500}]}");
    CLEANUP_JSON json_t *wanted =
        parse("[{\"op\": \"click\", \"x\": 1, \"y\": 2}, {\"op\": \"click\", \"x\": 3, \"y\": 4},"
              "{\"op\": \"wait\", \"duration_ms\": 1000},"
              "{\"op\": \"hold_key\", \"keys\": \"a\", \"duration_ms\": 500}]");
    CLEANUP_JSON json_t *actions = mcp_arguments_batch(good, &unknown, &asked, &err);
    if (!actions)
        fail_msg("%s", err.text);
    assert_true(json_equal(actions, wanted));
    assert_true(asked.screenshot);
    assert_int_equal(asked.duration_ms, 1500);

    static const char *const wrong[][2] = {
        {"{\"actions\": []}", "1 to 256"},
        {"{\"actions\": {}}", "1 to 256"},
        {"{}", "1 to 256"},
        {"{\"actions\": [1]}", "action 0: "},
        {"{\"actions\": [{\"op\": \"move\", \"x\": 1, \"y\": 2}, {\"op\": \"fly\"}]}",
         "action 1: there is no op \"fly\""},
        {"{\"actions\": [{\"op\": \"move\", \"x\": 1}]}",
         "action 0: the action move: the field \"y\" is missing"},
        {"{\"actions\": [{\"op\": \"cursor_position\"}], \"then\": 1}", "\"then\" is not known"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error reason = ERROR_INIT;
        CLEANUP_JSON json_t *bad = parse(wrong[i][0]);
        assert_null(mcp_arguments_batch(bad, &unknown, &asked, &reason));
        if (!strstr(reason.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], reason.text);
    }
}

static void regions_to_zoom_into(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    struct mcp_box given, box;
    struct mcp_scale half = {
        .frame_width = 2000, .frame_height = 1000, .picture_width = 1000, .picture_height = 500};
    CLEANUP_JSON json_t *good = parse("{\"region\": [10, 20.0, 30, 40]}");
    assert_int_equal(mcp_arguments_region(good, &half, &asked, &given, &box, &err), 0);
    assert_int_equal(given.width, 30);
    assert_int_equal(box.x, 20);
    assert_int_equal(box.height, 80);
    static const char *const wrong[] = {"{}",
                                        "{\"region\": [1, 2, 3]}",
                                        "{\"region\": [1, 2, 0, 4]}",
                                        "{\"region\": [900, 0, 101, 1]}",
                                        "{\"region\": \"all\"}",
                                        "{\"region\": [0, 0, 1, 1], \"x\": 1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct error reason = ERROR_INIT;
        CLEANUP_JSON json_t *bad = parse(wrong[i]);
        assert_int_equal(mcp_arguments_region(bad, &half, &asked, &given, &box, &reason), -1);
        assert_int_equal(reason.code, ERROR_BAD_REQUEST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_own_fields_pass),
        cmocka_unit_test(other_spellings),
        cmocka_unit_test(refusals_say_what_is_right),
        cmocka_unit_test(what_cannot_be_typed_is_left_to_the_node),
        cmocka_unit_test(coordinates_are_those_of_the_picture),
        cmocka_unit_test(batches),
        cmocka_unit_test(regions_to_zoom_into),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
