/*
 * The pixels that an RFB client holds: where raw rectangles are put, and what really differs from before is
 * found. Private to display/ and to the client's thread.
 */
#ifndef BERTHOS_DISPLAY_CANVAS_H
#define BERTHOS_DISPLAY_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "display/frame.h"
#include "protocol/action.h"

/* QEMU's dirty map has cells of 16 pixels of a row: its rectangles begin and end at such a cell, or at the
 * edge. */
#define CELL_WIDTH 16

/* Changes of one message are told apart by up to so many rectangles. */
#define CANVAS_BOXES 16

struct canvas {
    uint32_t width, height;
    uint32_t *pixels; /* 0x00RRGGBB, rows without padding; owned */

    /* Which cells have not been sent since the size changed: a picture is whole once none is left. */
    unsigned char *missing; /* one byte for each cell; NULL once all have arrived; owned */
    size_t missing_count;

    uint32_t *line; /* a row as it came, which need not be aligned; owned */

    struct action_region boxes[CANVAS_BOXES]; /* what differs since canvas_settle() */
    size_t box_count;
};

/* How many cells a row of pixels takes. */
uint32_t canvas_cells_across(uint32_t width);

/* Makes it a black one of a size, of which everything is missing. False without memory. */
bool canvas_resize(struct canvas *canvas, uint32_t width, uint32_t height);
void canvas_clear(struct canvas *canvas);

/* Puts raw pixels, whose unused byte may hold anything, at a rectangle that lies within. */
void canvas_put(struct canvas *canvas, const uint8_t *raw, uint32_t x, uint32_t y, uint32_t w, uint32_t h);

/* Copies a rectangle into a frame of the same size. */
void canvas_copy(const struct canvas *canvas, struct action_region region, struct frame *frame);

/* Forgets what differed. */
void canvas_settle(struct canvas *canvas);

#endif
