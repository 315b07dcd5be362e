/* Pictures made smaller, and their names. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "display/etag.h"
#include "display/scale.h"

/* Deterministic noise. */
static uint32_t colour(uint32_t i)
{
    i = (i ^ (i >> 15)) * 0x2c1b3c6du;
    return (i ^ (i >> 12)) & 0xffffff;
}

/* The area average in doubles, straight from its definition. */
static double average(const uint32_t *pixels, uint32_t width, uint32_t height, const struct scaling *scaling,
                      uint32_t i, uint32_t j, int shift)
{
    double step = (double)scaling->whole / scaling->part;
    double left = i * step, right = i == scaling->width - 1 ? width : (i + 1) * step;
    double top = j * step, bottom = j == scaling->height - 1 ? height : (j + 1) * step;
    double sum = 0, area = 0;
    right = right < width ? right : width;
    bottom = bottom < height ? bottom : height;
    for (uint32_t y = (uint32_t)top; y < height && y < bottom; y++)
        for (uint32_t x = (uint32_t)left; x < width && x < right; x++) {
            double w = fmin(x + 1, right) - fmax(x, left), h = fmin(y + 1, bottom) - fmax(y, top);
            sum += w * h * ((pixels[(size_t)y * width + x] >> shift) & 255);
            area += w * h;
        }
    return sum / area;
}

static void every_pixel_is_the_average_of_its_area(void **state)
{
    (void)state;
    const uint32_t cases[][3] = {{1280, 800, 1000}, {1366, 768, 1024}, {800, 1280, 333}, {37, 91, 90},
                                 {100, 100, 50},    {64, 48, 1},       {300, 1, 7},      {1, 300, 299}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint32_t width = cases[c][0], height = cases[c][1];
        uint32_t *pixels = malloc((size_t)width * height * 4);
        for (uint32_t i = 0; i < width * height; i++)
            pixels[i] = colour(i);
        struct scaling scaling = scaling_of(width, height, cases[c][2]);
        assert_int_equal(width > height ? scaling.width : scaling.height, cases[c][2]);
        uint32_t *out = malloc((size_t)scaling.width * scaling.height * 4);
        struct pixels source = {pixels, width, height, width};
        assert_int_equal(scale_down(&source, &scaling, out), 0);
        for (uint32_t j = 0; j < scaling.height; j++)
            for (uint32_t i = 0; i < scaling.width; i++) {
                uint32_t got = out[(size_t)j * scaling.width + i];
                assert_int_equal(got >> 24, 0);
                for (int shift = 0; shift < 24; shift += 8) {
                    double want = average(pixels, width, height, &scaling, i, j, shift);
                    assert_true(fabs((double)((got >> shift) & 255) - want) < 0.51);
                }
            }
        free(out);
        free(pixels);
    }
}

/* A point of the picture, mapped back by the scale alone, is a pixel of the screen. */
static void points_map_back_into_the_screen(void **state)
{
    (void)state;
    for (uint32_t width = 64; width < 2000; width += 61)
        for (uint32_t height = 64; height < 1500; height += 53)
            for (uint32_t edge = 40; edge < 1600; edge += 37) {
                struct scaling scaling = scaling_of(width, height, edge);
                assert_true(scaling.width <= width && scaling.height <= height);
                assert_true(scaling.width >= 1 && scaling.height >= 1);
                assert_true(scaling.width <= edge || width <= edge);
                double scale = (double)scaling.part / scaling.whole;
                assert_true((scaling.width - 0.5) / scale < width);
                assert_true((scaling.height - 0.5) / scale < height);
                assert_true((scaling.width + 0.5) / scale >= width - 1e-6); /* and nothing is cut off */
                assert_true((scaling.height + 0.5) / scale >= height - 1e-6);
            }
}

static void nothing_is_made_larger(void **state)
{
    (void)state;
    const uint32_t edges[] = {0, 1280, 5000};
    for (int i = 0; i < 3; i++) {
        struct scaling scaling = scaling_of(1280, 800, edges[i]);
        assert_int_equal(scaling.width, 1280);
        assert_int_equal(scaling.height, 800);
        assert_int_equal(scaling.part, scaling.whole);
    }
}

static void one_colour_stays_it(void **state)
{
    (void)state;
    const uint32_t colours[] = {0, 0xffffff, 0x010203, 0xfe7f80};
    uint32_t pixels[97 * 31], out[97 * 31];
    for (int c = 0; c < 4; c++) {
        for (int i = 0; i < 97 * 31; i++)
            pixels[i] = colours[c];
        for (uint32_t edge = 1; edge < 97; edge++) {
            struct pixels source = {pixels, 97, 31, 97};
            struct scaling scaling = scaling_of(97, 31, edge);
            assert_int_equal(scale_down(&source, &scaling, out), 0);
            for (uint32_t i = 0; i < scaling.width * scaling.height; i++)
                assert_int_equal(out[i], colours[c]);
        }
    }
}

static void names_tell_pictures_apart(void **state)
{
    (void)state;
    unsigned char *secret = etag_secret(), *other = etag_secret();
    uint32_t pixels[64 * 64];
    char first[PICTURE_ETAG_SIZE], second[PICTURE_ETAG_SIZE];
    for (uint32_t i = 0; i < 64 * 64; i++)
        pixels[i] = colour(i);
    struct pixels all = {pixels, 64, 64, 64}, part = {pixels + 65, 20, 20, 64};
    const struct picture_plan png = {.format = PICTURE_PNG}, jpeg = {.format = PICTURE_JPEG};
    etag_of(secret, &all, &png, first);
    assert_int_equal(strlen(first), 34);
    assert_true(first[0] == '"' && first[33] == '"');
    etag_of(secret, &all, &png, second);
    assert_string_equal(first, second);
    etag_of(secret, &all, &jpeg, second);
    assert_string_not_equal(first, second);
    etag_of(other, &all, &png, second);
    assert_string_not_equal(first, second);
    pixels[64 * 64 - 1] ^= 1;
    etag_of(secret, &all, &png, second);
    assert_string_not_equal(first, second);

    etag_of(secret, &part, &png, first);
    pixels[0] ^= 1; /* outside */
    etag_of(secret, &part, &png, second);
    assert_string_equal(first, second);
    pixels[20 * 64 + 20] ^= 1; /* its last one */
    etag_of(secret, &part, &png, second);
    assert_string_not_equal(first, second);
    free(secret);
    free(other);
}

static void headers_name_pictures(void **state)
{
    (void)state;
    const struct {
        const char *header;
        bool matches;
    } cases[] = {{NULL, false},
                 {"", false},
                 {"\"abc\"", true},
                 {"*", true},
                 {" * ", true},
                 {"\"abd\"", false},
                 {"abc", false},
                 {"\"abc", false},
                 {"\"ab\"", false},
                 {"\"abcd\"", false},
                 {"\"x\", \"abc\"", true},
                 {"\"x\",\"abc\"", true},
                 {",, \"x\" ,\t\"abc\" ,", true},
                 {"W/\"abc\"", true},
                 {"W/\"x\", W/\"abc\"", true},
                 {"w/\"abc\"", false},
                 {"\"a,b\", \"abc\"", true},
                 {"\"x\", *", false},
                 {"*, \"x\"", false},
                 {"\"x\" y \"abc\"", false},
                 {"\"*\"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(etag_matches(cases[i].header, "\"abc\""), cases[i].matches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pixel_is_the_average_of_its_area),
        cmocka_unit_test(points_map_back_into_the_screen),
        cmocka_unit_test(nothing_is_made_larger),
        cmocka_unit_test(one_colour_stays_it),
        cmocka_unit_test(names_tell_pictures_apart),
        cmocka_unit_test(headers_name_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
