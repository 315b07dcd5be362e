/* Making pictures smaller by averaging, never larger. Private to display/. */
#ifndef BERTHOS_DISPLAY_SCALE_H
#define BERTHOS_DISPLAY_SCALE_H

#include <stdint.h>

#include "display/pixels.h"

/* How large a picture becomes. */
struct scaling {
    uint32_t width, height; /* of the result, pixels */
    uint32_t part, whole;   /* the scale is part / whole, exactly and in both directions; at most 1 */
};

/*
 * The size of a width x height picture whose longer edge is at most max_edge (0: any). It is never made
 * larger. Pixel (i, j) of the result stands for the source around ((i + 1/2) * whole / part, (j + 1/2) *
 * whole / part), which always lies within it unless the shorter edge is less than a pixel of the result.
 */
struct scaling scaling_of(uint32_t width, uint32_t height, uint32_t max_edge);

/* Every pixel of the result is the average of the area that it stands for. `out` has scaling->width *
 * scaling->height pixels. -1 without memory. */
int scale_down(const struct pixels *source, const struct scaling *scaling, uint32_t *out);

#endif
