#include "paint.h"

/* The blocks of a pattern are squares of 1 << BLOCK_BITS pixels. */
enum { BLOCK_BITS = 5 };

uint32_t paint_hash(uint32_t seed, uint32_t x, uint32_t y)
{
    uint32_t hash = seed * 0x9e3779b1u + x * 0x85ebca77u + y * 0xc2b2ae3du;

    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    hash ^= hash >> 12;
    hash *= 0x297a2d39u;
    return hash ^ hash >> 15;
}

/* Red and green are ramps, so that a picture that is off by one pixel differs everywhere; blue tells apart
 * the places at which the ramps repeat. The factors are odd: another seed is another picture at each pixel.
 */
static uint32_t pattern_pixel(uint32_t seed, uint32_t x, uint32_t y, uint32_t block)
{
    return ((x + seed * 53u) & 255u) << 16 | ((y + seed * 97u) & 255u) << 8 | block >> 24;
}

uint32_t paint_pixel(const struct paint *paint, uint32_t x, uint32_t y)
{
    switch (paint->kind) {
    case PAINT_PATTERN:
        return pattern_pixel(paint->seed, x, y, paint_hash(paint->seed, x >> BLOCK_BITS, y >> BLOCK_BITS));
    case PAINT_NOISE:
        return paint_hash(paint->seed, x, y) >> 8;
    case PAINT_FILL:
        break;
    }
    return paint->seed & 0xffffffu;
}

void paint_row(const struct paint *paint, uint32_t y, uint32_t width, uint32_t *row)
{
    uint32_t block = 0;

    if (paint->kind != PAINT_PATTERN) {
        for (uint32_t x = 0; x < width; x++)
            row[x] = paint_pixel(paint, x, y);
        return;
    }
    for (uint32_t x = 0; x < width; x++) {
        if ((x & ((1u << BLOCK_BITS) - 1)) == 0)
            block = paint_hash(paint->seed, x >> BLOCK_BITS, y >> BLOCK_BITS);
        row[x] = pattern_pixel(paint->seed, x, y, block);
    }
}

const char *paint_kind_name(enum paint_kind kind)
{
    static const char *const names[] = {
        [PAINT_PATTERN] = "pattern", [PAINT_FILL] = "fill", [PAINT_NOISE] = "noise"};

    return names[kind];
}
