/* Pixels as PNG and JPEG files in memory. */
#ifndef BERTHOS_DISPLAY_PICTURE_H
#define BERTHOS_DISPLAY_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A rectangle of 0x00RRGGBB pixels inside a larger picture, or all of one. */
struct pixels {
    const uint32_t *first;  /* the one at its top left; borrowed */
    uint32_t width, height; /* pixels */
    uint32_t stride;        /* from one row to the next, pixels */
};

/* Encodes as PNG (ISO/IEC 15948), 8-bit RGB. *data is *owned*: free(). -1 with ERROR_INTERNAL. */
int picture_png(const struct pixels *pixels, unsigned char **data, size_t *size, struct error *err);

/* Encodes as JPEG with quality 1..100. As picture_png(). */
int picture_jpeg(const struct pixels *pixels, int quality, unsigned char **data, size_t *size,
                 struct error *err);

#endif
