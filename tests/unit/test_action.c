/* Decoding of actions: every op, every field, every bound. CASES.md 2. */
#include "unit.h"

#include <linux/input-event-codes.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "protocol/action.h"

static int decode(const char *text, struct action *action, struct error *err)
{
    CLEANUP_JSON json_t *document = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(document);
    return action_decode(document, action, err);
}

static struct action decode_good(const char *text)
{
    struct error err = ERROR_INIT;
    struct action action = {.kind = ACTION_WAIT};
    int result = decode(text, &action, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(result, 0);
    return action;
}

static void pointer_ops(void **state)
{
    (void)state;
    struct action a = decode_good("{\"op\":\"click\",\"x\":0,\"y\":32767}");
    assert_int_equal(a.kind, ACTION_CLICK);
    assert_string_equal(a.op, "click");
    assert_true(a.has_point);
    assert_int_equal(a.point.x, 0);
    assert_int_equal(a.point.y, 32767);
    assert_int_equal(a.button, BUTTON_LEFT);
    assert_int_equal(a.count, 1);
    a = decode_good("{\"op\":\"click\",\"x\":1,\"y\":2,\"button\":\"middle\",\"count\":3,"
                    "\"modifiers\":[\"ctrl\",\"super\"]}");
    assert_int_equal(a.button, BUTTON_MIDDLE);
    assert_int_equal(a.count, 3);
    assert_int_equal(a.modifiers, MODIFIER_CTRL | MODIFIER_SUPER);
    a = decode_good("{\"op\":\"double_click\",\"x\":1,\"y\":2}");
    assert_int_equal(a.kind, ACTION_CLICK);
    assert_int_equal(a.count, 2);
    assert_int_equal(decode_good("{\"op\":\"triple_click\",\"x\":1,\"y\":2}").count, 3);
    assert_int_equal(decode_good("{\"op\":\"right_click\",\"x\":1,\"y\":2}").button, BUTTON_RIGHT);
    assert_int_equal(decode_good("{\"op\":\"middle_click\",\"x\":1,\"y\":2}").button, BUTTON_MIDDLE);
    assert_int_equal(decode_good("{\"op\":\"move\",\"x\":1,\"y\":2}").kind, ACTION_MOVE);
    a = decode_good("{\"op\":\"mouse_down\",\"button\":\"right\"}");
    assert_int_equal(a.kind, ACTION_MOUSE_DOWN);
    assert_int_equal(a.button, BUTTON_RIGHT);
    assert_false(a.has_point);
    a = decode_good("{\"op\":\"mouse_up\",\"x\":3,\"y\":4}");
    assert_int_equal(a.kind, ACTION_MOUSE_UP);
    assert_true(a.has_point);
    a = decode_good("{\"op\":\"scroll\",\"x\":1,\"y\":2,\"dy\":-100}");
    assert_int_equal(a.dy, -100);
    assert_int_equal(a.dx, 0);
    a = decode_good("{\"op\":\"drag\",\"path\":[[1,2],[3,4],[5,6]],\"button\":\"left\"}");
    assert_int_equal(a.path_count, 3);
    assert_int_equal(a.path[2].x, 5);
    assert_int_equal(a.path[2].y, 6);
    action_clear(&a);
    assert_int_equal(decode_good("{\"op\":\"cursor_position\"}").kind, ACTION_CURSOR_POSITION);
}

static void key_ops(void **state)
{
    (void)state;
    struct action a = decode_good("{\"op\":\"type\",\"text\":\"a B\\n\\t~\",\"via\":\"keys\"}");
    assert_string_equal(a.text, "a B\n\t~");
    action_clear(&a);
    a = decode_good("{\"op\":\"key\",\"keys\":[\"ctrl+s\",\"Return\"],\"repeat\":100}");
    assert_int_equal(a.key_count, 2);
    assert_int_equal(a.keys[0].key, KEY_S);
    assert_int_equal(a.keys[0].modifiers, MODIFIER_CTRL);
    assert_int_equal(a.keys[1].key, KEY_ENTER);
    assert_int_equal(a.repeat, 100);
    action_clear(&a);
    a = decode_good("{\"op\":\"key\",\"keys\":\"ctrl++\"}");
    assert_int_equal(a.key_count, 1);
    assert_int_equal(a.repeat, 1);
    action_clear(&a);
    a = decode_good("{\"op\":\"hold_key\",\"keys\":\"shift\",\"duration_ms\":300000}");
    assert_int_equal(a.duration_ms, 300000);
    assert_int_equal(a.keys[0].key, 0);
    action_clear(&a);
    assert_null(a.keys);
}

static void waits(void **state)
{
    (void)state;
    struct action a = decode_good("{\"op\":\"wait\",\"duration_ms\":0}");
    assert_int_equal(a.until, UNTIL_DURATION);
    a = decode_good("{\"op\":\"wait\",\"until\":\"change\"}");
    assert_int_equal(a.until, UNTIL_CHANGE);
    assert_int_equal(a.timeout_ms, 30000);
    assert_false(a.has_region);
    a = decode_good("{\"op\":\"wait\",\"until\":\"still\",\"region\":[1,2,3,4],\"timeout_ms\":5}");
    assert_int_equal(a.until, UNTIL_STILL);
    assert_true(a.has_region);
    assert_int_equal(a.region.height, 4);
    assert_int_equal(a.timeout_ms, 5);
}

static void refuse(const char *text, enum error_code code, const char *part)
{
    struct action untouched = {.kind = ACTION_WAIT, .duration_ms = 77}, action = untouched;
    struct error err = ERROR_INIT;
    assert_int_equal(decode(text, &action, &err), -1);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\" for %s", err.text, part, text);
    assert_memory_equal(&action, &untouched, sizeof action);
}

static void malformed(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[]", "JSON object"},
        {"null", "JSON object"},
        {"{}", "op"},
        {"{\"op\":7}", "op"},
        {"{\"op\":\"fly\"}", "cursor_position"},
        {"{\"op\":\"click\",\"x\":1}", "\"y\" is missing"},
        {"{\"op\":\"click\",\"x\":-1,\"y\":1}", "from 0 to 32767"},
        {"{\"op\":\"click\",\"x\":1.5,\"y\":1}", "whole number"},
        {"{\"op\":\"click\",\"x\":\"1\",\"y\":1}", "whole number"},
        {"{\"op\":\"click\",\"x\":null,\"y\":1}", "whole number"},
        {"{\"op\":\"click\",\"x\":99999999999,\"y\":1}", "whole number"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"count\":4}", "from 1 to 3"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"count\":0}", "from 1 to 3"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"button\":\"leftt\"}", "left, middle, right"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"button\":\"left\\u0000\"}", "left, middle, right"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"button\":0}", "left, middle, right"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"modifiers\":\"ctrl\"}", "ctrl, alt, shift, super"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"modifiers\":[\"hyper\"]}", "ctrl, alt, shift, super"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"modifiers\":[1]}", "ctrl, alt, shift, super"},
        {"{\"op\":\"click\",\"x\":1,\"y\":1,\"z\":1}", "\"z\" is not known"},
        {"{\"op\":\"right_click\",\"x\":1,\"y\":1,\"button\":\"left\"}", "not known"},
        {"{\"op\":\"mouse_down\",\"x\":1}", "come together"},
        {"{\"op\":\"scroll\",\"x\":1,\"y\":1}", "dy"},
        {"{\"op\":\"scroll\",\"x\":1,\"y\":1,\"dy\":101}", "from -100 to 100"},
        {"{\"op\":\"drag\",\"path\":[[1,1]]}", "2 to 256"},
        {"{\"op\":\"drag\",\"path\":[[1,1],[1]]}", "points"},
        {"{\"op\":\"drag\",\"path\":[[1,1],[1,-1]]}", "points"},
        {"{\"op\":\"drag\",\"path\":[[1,1],[1,1,1]]}", "points"},
        {"{\"op\":\"drag\",\"path\":{}}", "points"},
        {"{\"op\":\"type\"}", "\"text\" is missing"},
        {"{\"op\":\"type\",\"text\":\"\"}", "1 to 16384"},
        {"{\"op\":\"type\",\"text\":1}", "1 to 16384"},
        {"{\"op\":\"type\",\"text\":\"a\",\"via\":\"mail\"}", "auto, keys, agent"},
        {"{\"op\":\"key\",\"keys\":[]}", "1 to 32"},
        {"{\"op\":\"key\",\"keys\":[1]}", "1 to 32"},
        {"{\"op\":\"key\",\"keys\":{}}", "1 to 32"},
        {"{\"op\":\"key\",\"keys\":\"Retrun\"}", "Retrun"},
        {"{\"op\":\"key\",\"keys\":\"a\\u0000b\"}", "NUL"},
        {"{\"op\":\"key\",\"keys\":\"a\",\"repeat\":101}", "from 1 to 100"},
        {"{\"op\":\"hold_key\",\"keys\":\"a\"}", "duration_ms"},
        {"{\"op\":\"hold_key\",\"keys\":\"a\",\"duration_ms\":300001}", "to 300000"},
        {"{\"op\":\"wait\"}", "duration_ms"},
        {"{\"op\":\"wait\",\"duration_ms\":1,\"until\":\"still\"}", "not both"},
        {"{\"op\":\"wait\",\"duration_ms\":1,\"timeout_ms\":1}", "until"},
        {"{\"op\":\"wait\",\"until\":\"never\"}", "change, still"},
        {"{\"op\":\"wait\",\"until\":\"still\",\"region\":[0,0,0,1]}", "at least 1"},
        {"{\"op\":\"wait\",\"until\":\"still\",\"region\":[0,0,1]}", "width"},
        {"{\"op\":\"cursor_position\",\"x\":1,\"y\":1}", "not known"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(cases[i][0], ERROR_BAD_REQUEST, cases[i][1]);
}

static void untypable(void **state)
{
    (void)state;
    refuse("{\"op\":\"type\",\"text\":\"a\\r\\n\"}", ERROR_UNTYPABLE, "U+000D, number 2");
    refuse("{\"op\":\"type\",\"text\":\"abc\xc2\x9b\"}", ERROR_UNTYPABLE, "U+009B, number 4");
    refuse("{\"op\":\"type\",\"text\":\"\x7f\"}", ERROR_UNTYPABLE, "U+007F, number 1");
    refuse("{\"op\":\"type\",\"text\":\"a\\u0000b\"}", ERROR_BAD_REQUEST, "NUL, at character 2");
    refuse("{\"op\":\"type\",\"text\":\"abc\xc3\xb1\",\"via\":\"keys\"}", ERROR_UNTYPABLE,
           "U+00F1, number 4");
    refuse("{\"op\":\"key\",\"keys\":[\"a\",\"\xc3\xb1\"]}", ERROR_UNTYPABLE, "U+00F1");
    refuse("{\"op\":\"key\",\"keys\":\"F13\"}", ERROR_UNTYPABLE, "F13");
    refuse("{\"op\":\"mouse_down\",\"button\":\"forward\"}", ERROR_UNTYPABLE, "forward");
    refuse("{\"op\":\"drag\",\"path\":[[1,2],[3,4]],\"button\":\"back\"}", ERROR_UNTYPABLE, "back");
}

/* Decodes what only some guests can do: refused where the guest cannot, done where it can. */
static void needs(const char *text, unsigned need, const char *part)
{
    struct action action = decode_good(text);
    struct error err = ERROR_INIT;
    assert_int_equal(action.needs, need);
    assert_int_equal(action_check_needs(&action, NEED_TYPIST | NEED_BUTTONS | NEED_WHEEL, &err), 0);
    assert_int_equal(action_check_needs(&action, ~need, &err), need ? -1 : 0);
    if (need)
        assert_int_equal(err.code, ERROR_UNTYPABLE);
    if (!strstr(err.text, part))
        fail_msg("\"%s\" does not say \"%s\" for %s", err.text, part, text);
    action_clear(&action);
}

static void what_an_action_needs(void **state)
{
    (void)state;
    needs("{\"op\":\"type\",\"text\":\"abc\\n\\t~\"}", 0, "");
    needs("{\"op\":\"type\",\"text\":\"abc\",\"via\":\"keys\"}", 0, "");
    needs("{\"op\":\"type\",\"text\":\"abc\",\"via\":\"agent\"}", NEED_TYPIST, "use via \"keys\"");
    needs("{\"op\":\"type\",\"text\":\"abc\xc3\xb1\"}", NEED_TYPIST, "U+00F1, number 4");
    needs("{\"op\":\"type\",\"text\":\"\xf0\x9f\x98\x80\"}", NEED_TYPIST, "U+1F600");
    needs("{\"op\":\"click\",\"x\":1,\"y\":1,\"button\":\"back\"}", NEED_BUTTONS, "alt+Left");
    needs("{\"op\":\"click\",\"x\":1,\"y\":1,\"button\":\"right\"}", 0, "");
    needs("{\"op\":\"scroll\",\"x\":1,\"y\":1,\"dx\":-1}", NEED_WHEEL, "horizontal");
    needs("{\"op\":\"scroll\",\"x\":1,\"y\":1,\"dx\":0,\"dy\":1}", 0, "");
}

static int decode_text_of(size_t length, const char *via, unsigned *need, struct error *err)
{
    CLEANUP_FREE char *text = malloc(length + 1);
    memset(text, 'x', length);
    text[length] = '\0';
    CLEANUP_JSON json_t *document = json_pack("{s:s, s:s, s:s}", "op", "type", "text", text, "via", via);
    struct action action = {.kind = ACTION_TYPE};
    int result = action_decode(document, &action, err);
    if (result == 0)
        assert_int_equal(action.characters, length);
    *need = action.needs;
    action_clear(&action);
    return result;
}

static void lengths_of_text(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    unsigned need;
    assert_int_equal(decode_text_of(ACTION_KEYS_MAX, "auto", &need, &err), 0);
    assert_int_equal(need, 0);
    assert_int_equal(decode_text_of(ACTION_KEYS_MAX + 1, "auto", &need, &err), 0);
    assert_int_equal(need, NEED_TYPIST);
    assert_int_equal(decode_text_of(16384, "agent", &need, &err), 0);
    assert_int_equal(decode_text_of(ACTION_KEYS_MAX, "keys", &need, &err), 0);
    assert_int_equal(decode_text_of(ACTION_KEYS_MAX + 1, "keys", &need, &err), -1);
    assert_int_equal(err.code, ERROR_UNTYPABLE);
    assert_int_equal(decode_text_of(16385, "auto", &need, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(decode_text_of(100000, "auto", &need, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
}

/* The table is fit to make documents of: no name twice, help everywhere, defaults that decode. */
static void the_table_is_sound(void **state)
{
    (void)state;
    size_t count;
    const struct action_op *ops = action_ops(&count);
    assert_int_equal(count, 15);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(action_find(ops[i].name), &ops[i]);
        assert_true(strlen(ops[i].help) > 0 && strlen(ops[i].title) > 0);
        assert_false((ops[i].effects & EFFECT_READS) && (ops[i].effects & EFFECT_DESTROYS));
        assert_true(ops[i].field_count < 15);
        for (size_t k = 0; k < ops[i].field_count; k++) {
            const struct member *field = &ops[i].fields[k];
            assert_true(strlen(field->help) > 0);
            assert_false(!field->optional && field->fallback);
            assert_true((field->kind == MEMBER_WORD || field->kind == FIELD_MODIFIERS) ==
                        (field->words != NULL));
            assert_true(field->max >= field->min);
            if (field->fallback) {
                CLEANUP_JSON json_t *value = json_loads(field->fallback, JSON_DECODE_ANY, NULL);
                assert_non_null(value);
            }
            for (size_t other = 0; other < k; other++)
                assert_string_not_equal(field->name, ops[i].fields[other].name);
        }
    }
    assert_null(action_find("Click"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pointer_ops),     cmocka_unit_test(key_ops),
        cmocka_unit_test(waits),           cmocka_unit_test(malformed),
        cmocka_unit_test(untypable),       cmocka_unit_test(what_an_action_needs),
        cmocka_unit_test(lengths_of_text), cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
