/* Who holds what down on a guest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "display/holds.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_each),
        cmocka_unit_test(too_many_keys),
        cmocka_unit_test(pointer_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
