/*
 * Averaging over areas. Lengths are measured in units of 1/part of a source pixel, so that a source pixel is
 * `part` units wide, a pixel of the result `whole`, and every overlap a whole number: no weight is rounded,
 * and sums of a column stay exact in a float (at most 8192 * 255 units).
 */
#include "display/scale.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The four bytes of a pixel side by side; a vector, so that one instruction does all four. */
typedef float quad __attribute__((vector_size(16)));

struct scaling scaling_of(uint32_t width, uint32_t height, uint32_t max_edge)
{
    uint32_t longer = width > height ? width : height, shorter = width > height ? height : width;
    if (max_edge == 0 || max_edge >= longer)
        return (struct scaling){width, height, 1, 1};
    /* Rounded, a half down: the middle of the last pixel then lies within the source. */
    uint64_t twice = 2 * (uint64_t)shorter * max_edge;
    uint32_t other =
        twice > longer ? (uint32_t)((twice - longer + 2 * (uint64_t)longer - 1) / (2 * longer)) : 1;
    return (struct scaling){width > height ? max_edge : other, width > height ? other : max_edge, max_edge,
                            longer};
}

/* The units that a pixel of the result covers along one edge; the last takes in what is left over. */
static void span_of(uint32_t i, uint32_t count, uint32_t size, const struct scaling *scaling, uint64_t *begin,
                    uint64_t *end)
{
    uint64_t limit = (uint64_t)size * scaling->part;
    *begin = (uint64_t)i * scaling->whole;
    *end = *begin + scaling->whole;
    if (i == count - 1 || *end > limit)
        *end = limit;
}

/* How many units of a source pixel lie in a span. */
static float overlap_of(uint64_t at, uint64_t begin, uint64_t end, uint32_t part)
{
    uint64_t from = at * part, to = from + part;
    from = from > begin ? from : begin;
    to = to < end ? to : end;
    return (float)(to - from);
}

/* Adds a row of bytes, weighted; written so that compilers make vectors of it. */
static void add_row(float *restrict sums, const unsigned char *restrict bytes, float weight, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] += weight * (float)bytes[i];
}

static uint32_t pack_mean(quad sum, float total)
{
    quad mean = sum / total + 0.5f;
    return (uint32_t)mean[2] << 16 | (uint32_t)mean[1] << 8 | (uint32_t)mean[0];
}

/* One row of the result out of the sums of its columns. */
static void shrink_row(const float *sums, uint32_t width, float rows, const struct scaling *scaling,
                       uint32_t *out)
{
    for (uint32_t i = 0; i < scaling->width; i++) {
        uint64_t begin, end;
        quad sum = {0};
        span_of(i, scaling->width, width, scaling, &begin, &end);
        for (uint64_t x = begin / scaling->part; x * scaling->part < end; x++) {
            quad column;
            memcpy(&column, sums + x * 4, sizeof column);
            sum += column * overlap_of(x, begin, end, scaling->part);
        }
        out[i] = pack_mean(sum, (float)(end - begin) * rows);
    }
}

int scale_down(const struct pixels *source, const struct scaling *scaling, uint32_t *out)
{
    size_t count = (size_t)source->width * 4;
    CLEANUP_FREE float *sums = malloc(count * sizeof *sums);
    if (!sums)
        return -1;
    for (uint32_t j = 0; j < scaling->height; j++) {
        uint64_t begin, end;
        span_of(j, scaling->height, source->height, scaling, &begin, &end);
        memset(sums, 0, count * sizeof *sums);
        for (uint64_t y = begin / scaling->part; y * scaling->part < end; y++)
            add_row(sums, (const unsigned char *)(source->first + y * source->stride),
                    overlap_of(y, begin, end, scaling->part), count);
        shrink_row(sums, source->width, (float)(end - begin), scaling, out + (size_t)j * scaling->width);
    }
    return 0;
}
