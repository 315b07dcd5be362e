/* What is on the display: the picture, the pointer mark on it, and the record of every picture shown. */
#ifndef TEST_GUEST_SCREEN_H
#define TEST_GUEST_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drm.h"
#include "input.h"
#include "paint.h"

struct screen {
    struct display display;
    struct paint paint;
    uint32_t sequence;      /* of the last picture; the first is 1 */
    int64_t shown_us;       /* when the last picture had been flushed */
    int64_t first_shown_us; /* the same of the first one */
    bool marking;           /* whether the mark is wanted */
    bool marked;            /* whether it is drawn, at mark_x, mark_y */
    uint32_t mark_x, mark_y;
};

/* Paints the whole display and flushes it; the new sequence number and time stand in *screen and in
 * GUEST_PAINTS. 0, or -1 with errno. */
int screen_paint(struct screen *screen, struct paint paint);

/* Shows a buffer of this size; the present picture is on it when it appears (`black`: nothing is, and no
 * picture is counted). 0, or -1 with errno and nothing changed. */
int screen_resize(struct screen *screen, uint32_t width, uint32_t height, bool black);

/* Where the tablet's position lies on the display, in pixels: round(raw * width / max). */
void screen_pointer(const struct screen *screen, const struct input_pointer *pointer, uint32_t *x,
                    uint32_t *y);

/* Brings the mark to the pointer, or takes it away. 0, or -1 with errno. */
int screen_mark(struct screen *screen, const struct input_pointer *pointer);

/* "seq":..,"t_us":..,"kind":..,"seed":..,"width":..,"height":.. of the last picture, without braces. */
void screen_describe(const struct screen *screen, char *text, size_t size);

#endif
