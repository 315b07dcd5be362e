/*
 * The pictures of the test guest, as pure functions of the position: whoever has this file (or README.md)
 * knows what every pixel must be. No allocation, no state, no other file needed.
 */
#ifndef TEST_GUEST_PAINT_H
#define TEST_GUEST_PAINT_H

#include <stdint.h>

enum paint_kind {
    PAINT_PATTERN, /* ramps by x and y over blocks of a hash: each pixel tells where it is and which seed */
    PAINT_FILL,    /* one colour */
    PAINT_NOISE,   /* a hash for each pixel: nothing compresses it */
};

struct paint {
    enum paint_kind kind;
    uint32_t seed; /* PAINT_FILL: the colour, 0xRRGGBB */
};

/* A well-mixed 32-bit number of (seed, x, y). */
uint32_t paint_hash(uint32_t seed, uint32_t x, uint32_t y);

/* The colour 0xRRGGBB of the pixel at column x, row y. */
uint32_t paint_pixel(const struct paint *paint, uint32_t x, uint32_t y);

/* Row y of a picture, `width` pixels, into `row` (borrowed, room for width): what paint_pixel() says, faster.
 */
void paint_row(const struct paint *paint, uint32_t y, uint32_t width, uint32_t *row);

/* "pattern", "fill", "noise". Static. */
const char *paint_kind_name(enum paint_kind kind);

#endif
