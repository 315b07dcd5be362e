/* Frames as files, read back with the libraries' own readers. */
#include "unit.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "display/display.h"
#include "display/picture.h"

static struct frame *make_frame(uint32_t width, uint32_t height, bool noise)
{
    struct frame *frame = calloc(1, sizeof *frame + (size_t)width * height * 4);
    assert_non_null(frame);
    frame->references = 1;
    frame->width = width;
    frame->height = height;
    for (uint32_t i = 0; i < width * height; i++)
        frame->pixels[i] =
            noise ? (i * 0x9e3779b1u) >> 8 : ((i % width) & 255) << 16 | ((i / width) & 255) << 8 | 0x40;
    return frame;
}

static struct pixels whole(const struct frame *frame)
{
    return (struct pixels){frame->pixels, frame->width, frame->height, frame->width};
}

static void a_png_is_exact(void **state)
{
    (void)state;
    const uint32_t sizes[][2] = {{1, 1}, {17, 3}, {1366, 50}, {300, 200}};
    for (size_t i = 0; i < 8; i++) {
        struct frame *frame = make_frame(sizes[i / 2][0], sizes[i / 2][1], i % 2);
        struct pixels all = whole(frame);
        unsigned char *data;
        size_t size;
        struct error err = ERROR_INIT;
        assert_int_equal(picture_png(&all, &data, &size, &err), 0);
        png_image image = {.version = PNG_IMAGE_VERSION};
        assert_true(png_image_begin_read_from_memory(&image, data, size));
        assert_int_equal(image.width, frame->width);
        assert_int_equal(image.height, frame->height);
        assert_int_equal(image.format, PNG_FORMAT_RGB); /* 8 bits, no alpha, no palette */
        image.format = PNG_FORMAT_BGRA;
        uint32_t *pixels = malloc(PNG_IMAGE_SIZE(image));
        assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
        for (uint32_t k = 0; k < frame->width * frame->height; k++)
            assert_int_equal(pixels[k], frame->pixels[k] | 0xff000000u);
        free(pixels);
        free(data);
        frame_release(frame);
    }
}

static void a_jpeg_is_close(void **state)
{
    (void)state;
    struct frame *frame = make_frame(256, 100, false);
    struct pixels all = whole(frame);
    size_t sizes[2];
    const int qualities[] = {10, 95};
    for (int q = 0; q < 2; q++) {
        unsigned char *data;
        struct error err = ERROR_INIT;
        assert_int_equal(picture_jpeg(&all, qualities[q], &data, &sizes[q], &err), 0);
        struct jpeg_error_mgr manager;
        struct jpeg_decompress_struct jpeg = {.err = jpeg_std_error(&manager)};
        jpeg_create_decompress(&jpeg);
        jpeg_mem_src(&jpeg, data, sizes[q]);
        assert_int_equal(jpeg_read_header(&jpeg, TRUE), JPEG_HEADER_OK);
        jpeg.out_color_space = JCS_EXT_BGRX;
        jpeg_start_decompress(&jpeg);
        assert_int_equal(jpeg.output_width, 256);
        assert_int_equal(jpeg.output_height, 100);
        unsigned char row[256 * 4];
        long off = 0;
        while (jpeg.output_scanline < 100) {
            const uint32_t *truth = frame->pixels + (size_t)jpeg.output_scanline * 256;
            JSAMPROW rows[] = {row};
            jpeg_read_scanlines(&jpeg, rows, 1);
            for (int x = 0; x < 256; x++)
                off += labs((long)row[x * 4 + 2] - (long)(truth[x] >> 16)) +
                       labs((long)row[x * 4] - (long)(truth[x] & 255));
        }
        jpeg_finish_decompress(&jpeg);
        jpeg_destroy_decompress(&jpeg);
        if (q == 1)
            assert_true(off < 256 * 100 * 2 * 4); /* colours in their places: 4 of 255 on average */
        free(data);
    }
    assert_true(sizes[0] < sizes[1]);
    frame_release(frame);
}

static void what_a_library_refuses_is_an_error(void **state)
{
    (void)state;
    struct frame *frame = make_frame(1, 1, false);
    struct pixels all = whole(frame);
    all.width = all.height = 0;
    unsigned char *data = NULL;
    size_t size = 0;
    struct error err = ERROR_INIT;
    assert_int_equal(picture_png(&all, &data, &size, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    err.code = ERROR_NONE;
    assert_int_equal(picture_jpeg(&all, 80, &data, &size, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_null(data);
    frame_release(frame);
}

static void blank_is_one_colour(void **state)
{
    (void)state;
    struct frame *frame = make_frame(40, 30, false);
    assert_false(frame_is_blank(frame));
    for (uint32_t i = 0; i < 40 * 30; i++)
        frame->pixels[i] = 0x123456;
    assert_true(frame_is_blank(frame));
    frame->pixels[40 * 30 - 1] ^= 1;
    assert_false(frame_is_blank(frame));
    frame_release(frame);
}

/* A picture counts once, for its display and for the node, until its last reference goes. */
static void what_is_under_way_is_counted(void **state)
{
    (void)state;
    struct picture_budget *all = picture_budget_new(150, NULL);
    struct picture_budget *one = picture_budget_new(100, all), *two = picture_budget_new(100, all);
    struct picture_file *file = calloc(1, sizeof *file);
    file->references = 1;
    picture_file_fill(file, malloc(99), 99, one);
    assert_false(picture_budget_full(one));
    picture_budget_add(one, 1);
    assert_true(picture_budget_full(one));
    assert_false(picture_budget_full(two));
    picture_budget_add(two, 50);
    assert_true(picture_budget_full(two)); /* all together have too much */
    picture_file_share(file);
    picture_file_release(file);
    assert_true(picture_budget_full(two));
    picture_file_release(file);
    assert_false(picture_budget_full(one));
    assert_false(picture_budget_full(two));
    picture_budget_release(one); /* before or after what it is a part of */
    picture_budget_release(all);
    picture_budget_release(two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_png_is_exact),
        cmocka_unit_test(a_jpeg_is_close),
        cmocka_unit_test(what_a_library_refuses_is_an_error),
        cmocka_unit_test(blank_is_one_colour),
        cmocka_unit_test(what_is_under_way_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
