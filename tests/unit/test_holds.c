/* Who holds what down on a guest. */
#include "unit.h"

#include "display/holds.h"
#include "tests/unit/home_fixture.h"

static void keys_of_each(void **state)
{
    (void)state;
    uint32_t keys[HOLDS_KEYS_MAX];
    uint8_t buttons;
    struct holds *holds = holds_new();
    struct holder *node = holds_join(holds), *viewer = holds_join(holds), *other = holds_join(holds);
    assert_true(holds_key(viewer, 0x1d, true));
    assert_true(holds_key(viewer, HOLDS_KEYSYM | 0xffe1, true));
    assert_true(holds_key(viewer, 0x1d, true)); /* repeated */
    assert_true(holds_key(other, 0x1d, true));
    assert_true(holds_key(node, 0x1e, true));
    assert_int_equal(holds_others(node, keys, HOLDS_KEYS_MAX), 2);
    assert_int_equal(holds_mine(viewer, keys, &buttons), 2);
    assert_int_equal(keys[0], 0x1d);
    assert_int_equal(keys[1], HOLDS_KEYSYM | 0xffe1);
    assert_true(holds_key(viewer, 0x1d, false));
    assert_true(holds_key(viewer, 0x55, false)); /* was not down */
    assert_int_equal(holds_mine(viewer, keys, &buttons), 1);
    holds_leave(viewer);
    assert_int_equal(holds_others(node, keys, HOLDS_KEYS_MAX), 1);
    assert_int_equal(keys[0], 0x1d);
    holds_leave(other);
    holds_leave(node);
    holds_free(holds);
}

static void too_many_keys(void **state)
{
    (void)state;
    struct holds *holds = holds_new();
    struct holder *viewer = holds_join(holds);
    for (uint32_t key = 1; key <= HOLDS_KEYS_MAX; key++)
        assert_true(holds_key(viewer, key, true));
    assert_false(holds_key(viewer, 200, true));
    assert_true(holds_key(viewer, 1, false));
    assert_true(holds_key(viewer, 200, true));
    holds_leave(viewer);
    holds_free(holds);
}

static void pointer_of_all(void **state)
{
    (void)state;
    uint32_t keys[HOLDS_KEYS_MAX];
    uint8_t buttons;
    int32_t x, y;
    struct holds *holds = holds_new();
    struct holder *a = holds_join(holds), *b = holds_join(holds);
    assert_false(holds_position(holds, &x, &y));
    holds_pointer(a, 10, 20, 1);
    holds_pointer(b, 30, 40, 0);
    assert_true(holds_position(holds, &x, &y));
    assert_int_equal(x, 30);
    assert_int_equal(y, 40);
    holds_mine(a, keys, &buttons);
    assert_int_equal(buttons, 1);
    holds_leave(a);
    holds_leave(b);
    holds_free(holds);
}

/* A process that is killed leaves its buttons to the next one, once; another guest has nothing to do with
 * them. */
static void kept_over_a_kill(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    int32_t x, y;
    CLEANUP_FREE char *path = text_format("%s/held", home);
    struct holds *killed = holds_new();
    assert_int_equal(holds_keep(killed, path, &err), 0);
    assert_int_equal(holds_inherit(killed), 0);
    struct holder *node = holds_join(killed), *viewer = holds_join(killed);
    holds_pointer(node, 100, 200, 1);
    holds_pointer(viewer, 101, 201, 4);

    struct holds *next = holds_new();
    assert_int_equal(holds_keep(next, path, &err), 0);
    assert_true(holds_position(next, &x, &y));
    assert_int_equal(x, 101);
    assert_int_equal(y, 201);
    assert_int_equal(holds_inherit(next), 5);
    assert_int_equal(holds_inherit(next), 0);
    struct holder *again = holds_join(next);
    holds_pointer(again, 101, 201, 0);
    holds_leave(again);
    holds_free(next);

    struct holds *clean = holds_new();
    assert_int_equal(holds_keep(clean, path, &err), 0);
    assert_int_equal(holds_inherit(clean), 0);
    holds_forget(clean);
    assert_false(holds_position(clean, &x, &y));
    holds_free(clean);
    holds_leave(node);
    holds_leave(viewer);
    holds_free(killed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_each),
        cmocka_unit_test(too_many_keys),
        cmocka_unit_test(pointer_of_all),
        cmocka_unit_test_setup_teardown(kept_over_a_kill, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
