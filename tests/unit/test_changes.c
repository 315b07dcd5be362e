/* What a session remembers of changes, and what it sees to differ in raw pixels. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "display/canvas.h"
#include "display/changes.h"
#include "display/region.h"

static void assert_region(struct action_region got, int32_t x, int32_t y, int32_t width, int32_t height)
{
    assert_int_equal(got.x, x);
    assert_int_equal(got.y, y);
    assert_int_equal(got.width, width);
    assert_int_equal(got.height, height);
}

static void a_log_answers_since(void **state)
{
    (void)state;
    struct changes *log = calloc(1, sizeof *log);
    struct action_region region = {0};
    int64_t last = 0;
    assert_false(changes_since(log, 0, NULL, &region, &last));
    changes_add(log, 1, 100, (struct action_region){0, 0, 10, 10});
    changes_add(log, 2, 200, (struct action_region){50, 60, 5, 5});
    changes_add(log, 2, 200, (struct action_region){20, 20, 1, 1});
    assert_true(changes_since(log, 0, NULL, &region, &last));
    assert_region(region, 0, 0, 55, 65);
    assert_int_equal(last, 200);
    assert_true(changes_since(log, 1, NULL, &region, &last));
    assert_region(region, 20, 20, 35, 45);
    assert_false(changes_since(log, 2, NULL, &region, &last));

    /* Within a region only what touches it counts, to the pixel. */
    assert_true(changes_since(log, 0, &(struct action_region){9, 9, 5, 5}, &region, &last));
    assert_region(region, 0, 0, 10, 10);
    assert_int_equal(last, 100);
    assert_false(changes_since(log, 0, &(struct action_region){10, 9, 5, 5}, NULL, NULL));
    assert_true(changes_since(log, 1, &(struct action_region){54, 64, 1, 1}, NULL, NULL));
    assert_false(changes_since(log, 1, &(struct action_region){55, 64, 1, 1}, NULL, NULL));
    free(log);
}

/* What no longer fits is merged: never less than there was, and what is young stays exact. */
static void an_old_log_gets_coarse(void **state)
{
    (void)state;
    struct changes *log = calloc(1, sizeof *log);
    struct action_region region;
    int64_t last;
    for (int32_t i = 1; i <= 10 * CHANGES_MAX; i++)
        changes_add(log, (uint64_t)i, i, (struct action_region){i, 2 * i, 1, 1});
    int32_t n = 10 * CHANGES_MAX;
    assert_true(changes_since(log, 0, NULL, &region, &last));
    assert_region(region, 1, 2, n, 2 * n - 1);
    assert_int_equal(last, n);
    assert_true(changes_since(log, (uint64_t)n - 100, NULL, &region, &last));
    assert_region(region, n - 99, 2 * (n - 99), 100, 199);
    assert_true(changes_since(log, 5, NULL, &region, NULL)); /* among the merged */
    assert_true(region.x <= 6);
    free(log);
}

static void regions_are_cut_to_the_screen(void **state)
{
    (void)state;
    assert_region(region_clip((struct action_region){5, 6, 10, 10}, 8, 100), 5, 6, 3, 10);
    assert_region(region_clip((struct action_region){50, 6, 10, 10}, 8, 100), 50, 6, 0, 10);
}

static void put(struct canvas *canvas, uint32_t x, uint32_t y, uint32_t w, uint32_t h, uint32_t colour)
{
    /* Off by one byte: what the library hands over need not be aligned. */
    unsigned char *raw = malloc((size_t)w * h * 4 + 1);
    uint32_t pixel = colour | 0xee000000u;
    for (size_t i = 0; i < (size_t)w * h; i++)
        memcpy(raw + 1 + i * 4, &pixel, 4);
    canvas_put(canvas, raw + 1, x, y, w, h);
    free(raw);
}

static void a_canvas_finds_what_differs(void **state)
{
    (void)state;
    struct canvas canvas = {.pixels = NULL};
    assert_true(canvas_resize(&canvas, 100, 40)); /* no multiple of the cells */
    put(&canvas, 0, 0, 100, 39, 0x111111);
    assert_non_null(canvas.missing);
    canvas_settle(&canvas);
    put(&canvas, 0, 39, 99, 1, 0x111111); /* the last cell only in part */
    assert_non_null(canvas.missing);
    put(&canvas, 96, 39, 4, 1, 0x111111);
    assert_null(canvas.missing); /* now it is whole, and all of it new */
    assert_int_equal(canvas.box_count, 1);
    assert_region(canvas.boxes[0], 0, 0, 100, 40);

    canvas_settle(&canvas);
    put(&canvas, 0, 0, 100, 40, 0x111111); /* the same again, with another unused byte */
    assert_int_equal(canvas.box_count, 0);

    canvas.pixels[7 * 100 + 33] = 1; /* one pixel of a large rectangle is another */
    put(&canvas, 16, 0, 48, 40, 0x111111);
    assert_int_equal(canvas.box_count, 1);
    assert_region(canvas.boxes[0], 33, 7, 1, 1);
    assert_int_equal(canvas.pixels[7 * 100 + 33], 0x111111);

    canvas_settle(&canvas);
    put(&canvas, 0, 0, 16, 2, 0x222222);
    put(&canvas, 0, 2, 16, 2, 0x222222); /* completes it */
    put(&canvas, 80, 30, 16, 4, 0x222222);
    assert_int_equal(canvas.box_count, 2);
    assert_region(canvas.boxes[0], 0, 0, 16, 4);
    assert_region(canvas.boxes[1], 80, 30, 16, 4);

    canvas_settle(&canvas);
    for (uint32_t i = 0; i < 40; i += 2) /* more than can be told apart */
        put(&canvas, i * 2, i, 1, 1, 0x330000 + i);
    assert_int_equal(canvas.box_count, CANVAS_BOXES);
    struct action_region all = canvas.boxes[0];
    for (size_t i = 1; i < canvas.box_count; i++)
        all = region_union(all, canvas.boxes[i]);
    assert_region(all, 0, 0, 77, 39);
    canvas_clear(&canvas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_answers_since),
        cmocka_unit_test(an_old_log_gets_coarse),
        cmocka_unit_test(regions_are_cut_to_the_screen),
        cmocka_unit_test(a_canvas_finds_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
