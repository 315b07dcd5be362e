/* Pictures that a model takes whole, and coordinates between picture and screen. */
#include "unit.h"

#include "mcp/scale.h"

static void a_usual_screen_is_left_alone(void **state)
{
    (void)state;
    struct mcp_scale scale = mcp_scale_of(1280, 800);
    assert_int_equal(scale.picture_width, 1280);
    assert_int_equal(scale.picture_height, 800);
    for (int32_t x = 0; x < 1280; x++) {
        int32_t at_x = x, at_y = x % 800;
        mcp_scale_to_screen(&scale, &at_x, &at_y);
        assert_int_equal(at_x, x);
        assert_int_equal(at_y, x % 800);
    }
}

static void every_picture_fits_and_none_is_needlessly_small(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{640, 480},   {1366, 768},  {1568, 1568}, {1920, 1080}, {1080, 1920},
                                       {3840, 2160}, {7680, 4320}, {32767, 64},  {1569, 10},   {1, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int32_t width = sizes[i][0], height = sizes[i][1];
        struct mcp_scale scale = mcp_scale_of(width, height);
        assert_true(mcp_scale_fits(scale.picture_width, scale.picture_height));
        int32_t edge = mcp_scale_edge(width, height), longer = width > height ? width : height;
        assert_int_equal(edge, scale.picture_width > scale.picture_height ? scale.picture_width
                                                                          : scale.picture_height);
        assert_true(edge <= longer);
        if (edge < longer && edge < MCP_EDGE_MAX) {
            int32_t wider = (int32_t)((int64_t)width * (edge + 1) / longer);
            int32_t higher = (int32_t)((int64_t)height * (edge + 1) / longer);
            assert_false(mcp_scale_fits(wider + 1, higher + 1));
        }
    }
}

/* What a pixel of the picture stands for lies within what it was made of, and there and back is the same
 * pixel. */
static void there_and_back(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{1920, 1080}, {2560, 1440}, {1366, 768}, {1080, 2400}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct mcp_scale scale = mcp_scale_of(sizes[i][0], sizes[i][1]);
        for (int32_t x = 0; x < scale.picture_width; x++) {
            int32_t at_x = x, at_y = x % scale.picture_height;
            mcp_scale_to_screen(&scale, &at_x, &at_y);
            assert_true(at_x * (int64_t)scale.picture_width >= (int64_t)(x - 1) * scale.frame_width + 1);
            assert_true(at_x * (int64_t)scale.picture_width < (int64_t)(x + 1) * scale.frame_width);
            mcp_scale_to_picture(&scale, &at_x, &at_y);
            assert_int_equal(at_x, x);
            assert_int_equal(at_y, x % scale.picture_height);
        }
    }
}

static void boxes_cover_all_of_it(void **state)
{
    (void)state;
    struct mcp_scale scale = mcp_scale_of(1920, 1080);
    struct mcp_box whole =
        mcp_scale_box_to_screen(&scale, (struct mcp_box){0, 0, scale.picture_width, scale.picture_height});
    assert_int_equal(whole.x, 0);
    assert_int_equal(whole.width, 1920);
    assert_int_equal(whole.height, 1080);
    struct mcp_box spot = mcp_scale_box_to_screen(&scale, (struct mcp_box){100, 50, 1, 1});
    int32_t x = 100, y = 50;
    mcp_scale_to_screen(&scale, &x, &y);
    assert_in_range(x, spot.x, spot.x + spot.width - 1);
    assert_in_range(y, spot.y, spot.y + spot.height - 1);
    struct mcp_box corner = mcp_scale_box_to_picture(&scale, (struct mcp_box){1919, 1079, 1, 1});
    assert_int_equal(corner.x + corner.width, scale.picture_width);
    assert_int_equal(corner.y + corner.height, scale.picture_height);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_usual_screen_is_left_alone),
        cmocka_unit_test(every_picture_fits_and_none_is_needlessly_small),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(boxes_cover_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
