/*
 * Frames: pixels of the whole screen, by number. A frame is immutable and counted; many readers share one.
 */
#ifndef BERTHOS_DISPLAY_FRAME_H
#define BERTHOS_DISPLAY_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* Pixels are 32 bits, little endian 0x00RRGGBB, rows without padding. */
struct frame {
    int references;    /* private to frame.c */
    uint64_t sequence; /* grows with each change of the screen; equal numbers are equal pixels */
    uint32_t width, height;
    int64_t time_ms; /* monotonic, when the last change was seen */
    uint32_t pixels[];
};

/* Gives up one reference. */
void frame_release(struct frame *frame);
CLEANUP_DEFINE(frame, struct frame *, frame_release);
#define CLEANUP_FRAME CLEANUP(cleanup_frame)

/* Whether the frame shows one colour only. */
bool frame_is_blank(const struct frame *frame);

/* --- private to display/ --- */

/* A frame without content and with one reference; NULL when memory is gone. *Owned*. */
struct frame *frame_new(uint32_t width, uint32_t height);

/* Another reference. */
struct frame *frame_share(struct frame *frame);

/* Gives up a reference that nobody takes another from any more (frame may be NULL). Returns the frame, now
 * *owned* and writable, when that was the last one, else NULL. */
struct frame *frame_retire(struct frame *frame);

#endif
