/* A rectangle of pixels wherever it lies: part of a frame, or all of one, or one made smaller. Private to
 * display/. */
#ifndef BERTHOS_DISPLAY_PIXELS_H
#define BERTHOS_DISPLAY_PIXELS_H

#include <stdint.h>

struct pixels {
    const uint32_t *first;  /* the one at its top left, 0x00RRGGBB; borrowed */
    uint32_t width, height; /* pixels */
    uint32_t stride;        /* from one row to the next, pixels */
};

#endif
