#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

/* The mark is a cross whose arms reach this many pixels from its middle. */
enum { MARK_ARM = 4 };

static bool on_mark(const struct screen *screen, uint32_t x, uint32_t y)
{
    uint32_t left = x > screen->mark_x ? x - screen->mark_x : screen->mark_x - x;
    uint32_t down = y > screen->mark_y ? y - screen->mark_y : screen->mark_y - y;

    return screen->marked && ((left == 0 && down <= MARK_ARM) || (down == 0 && left <= MARK_ARM));
}

/* Draws and flushes the square around the mark's place anew, with or without the mark. */
static int redraw_mark(struct screen *screen)
{
    const struct display *display = &screen->display;
    uint32_t left = screen->mark_x > MARK_ARM ? screen->mark_x - MARK_ARM : 0;
    uint32_t top = screen->mark_y > MARK_ARM ? screen->mark_y - MARK_ARM : 0;
    uint32_t right = screen->mark_x + MARK_ARM + 1, bottom = screen->mark_y + MARK_ARM + 1;

    right = right < display->width ? right : display->width;
    bottom = bottom < display->height ? bottom : display->height;
    for (uint32_t y = top; y < bottom; y++)
        for (uint32_t x = left; x < right; x++)
            display_row(display, y)[x] =
                paint_pixel(&screen->paint, x, y) ^ (on_mark(screen, x, y) ? 0xffffffu : 0);
    return display_flush(display, left, top, right - left, bottom - top);
}

void screen_describe(const struct screen *screen, char *text, size_t size)
{
    snprintf(text, size, "\"seq\":%u,\"t_us\":%lld,\"kind\":\"%s\",\"seed\":%u,\"width\":%u,\"height\":%u",
             screen->sequence, (long long)screen->shown_us, paint_kind_name(screen->paint.kind),
             screen->paint.seed, screen->display.width, screen->display.height);
}

static void record(const struct screen *screen)
{
    int fd = open(GUEST_PAINTS, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    char text[GUEST_LINE_MAX];

    if (fd < 0)
        return;
    screen_describe(screen, text, sizeof(text));
    dprintf(fd, "{%s}\n", text);
    close(fd);
}

/* A display_draw(): the whole picture, into a buffer that the host does not see yet. */
static void draw(const struct display *display, void *context)
{
    const struct paint *paint = context;

    for (uint32_t y = 0; y < display->height; y++)
        paint_row(paint, y, display->width, display_row(display, y));
}

static void count(struct screen *screen)
{
    screen->marked = false;
    screen->shown_us = guest_now_us();
    if (screen->sequence++ == 0)
        screen->first_shown_us = screen->shown_us;
    record(screen);
}

int screen_paint(struct screen *screen, struct paint paint)
{
    const struct display *display = &screen->display;

    if (!display->pixels) {
        errno = ENODEV;
        return -1;
    }
    screen->paint = paint;
    draw(display, &paint);
    if (display_flush(display, 0, 0, display->width, display->height) < 0)
        return -1;
    count(screen);
    return 0;
}

int screen_resize(struct screen *screen, uint32_t width, uint32_t height, bool black)
{
    if (display_show(&screen->display, width, height, black ? NULL : draw, &screen->paint) < 0)
        return -1;
    if (!black)
        count(screen);
    return 0;
}

static uint32_t scale(int32_t raw, int32_t max, uint32_t size)
{
    uint32_t place;

    if (max <= 0 || raw < 0)
        return 0;
    place = (uint32_t)(((uint64_t)raw * size * 2 + (uint64_t)max) / ((uint64_t)max * 2));
    return place < size ? place : size - 1;
}

void screen_pointer(const struct screen *screen, const struct input_pointer *pointer, uint32_t *x,
                    uint32_t *y)
{
    *x = scale(pointer->x, pointer->max_x, screen->display.width);
    *y = scale(pointer->y, pointer->max_y, screen->display.height);
}

int screen_mark(struct screen *screen, const struct input_pointer *pointer)
{
    bool was_marked = screen->marked;

    if (!screen->display.pixels) {
        errno = ENODEV;
        return -1;
    }
    screen->marked = false;
    if (was_marked && redraw_mark(screen) < 0)
        return -1;
    if (!screen->marking)
        return 0;
    screen_pointer(screen, pointer, &screen->mark_x, &screen->mark_y);
    screen->marked = true;
    return redraw_mark(screen);
}
