/* Frames as PNG and JPEG files in memory. */
#ifndef BERTHOS_DISPLAY_PICTURE_H
#define BERTHOS_DISPLAY_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "display/display.h"

/* Encodes a frame as PNG (ISO/IEC 15948), 8-bit RGB. *data is *owned*: free(). -1 with ERROR_INTERNAL. */
int picture_png(const struct display_frame *frame, unsigned char **data, size_t *size, struct error *err);

/* Encodes a frame as JPEG with quality 1..100. As picture_png(). */
int picture_jpeg(const struct display_frame *frame, int quality, unsigned char **data, size_t *size,
                 struct error *err);

#endif
