#include <stdlib.h>
#include <string.h>

#include "display/canvas.h"
#include "display/session.h"

struct frame *frame_new(uint32_t width, uint32_t height)
{
    size_t count, bytes;
    if (__builtin_mul_overflow((size_t)width, (size_t)height, &count) ||
        __builtin_mul_overflow(count, sizeof(uint32_t), &bytes) ||
        __builtin_add_overflow(bytes, sizeof(struct frame), &bytes))
        return NULL;
    struct frame *frame = malloc(bytes);
    if (!frame)
        return NULL;
    frame->references = 1;
    frame->width = width;
    frame->height = height;
    return frame;
}

struct frame *frame_share(struct frame *frame)
{
    __atomic_add_fetch(&frame->references, 1, __ATOMIC_RELAXED);
    return frame;
}

void frame_release(struct frame *frame)
{
    if (frame && __atomic_sub_fetch(&frame->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(frame);
}

struct frame *frame_retire(struct frame *frame)
{
    if (!frame)
        return NULL;
    /* Nobody can take another reference any more: one left is the caller's. */
    if (__atomic_load_n(&frame->references, __ATOMIC_ACQUIRE) == 1)
        return frame;
    frame_release(frame);
    return NULL;
}

/*
 * A frame to be filled, and which part of it does not hold the present pixels yet. The one before the last is
 * used again where nobody looks at it any more: then only what has changed since has to be copied.
 */
static struct frame *take_frame(struct display *display, const struct canvas *canvas,
                                struct action_region *stale)
{
    struct frame *frame;
    *stale = (struct action_region){0, 0, (int32_t)canvas->width, (int32_t)canvas->height};
    {
        LOCK_SCOPE(&display->mutex);
        frame = TAKE(display->spare);
        if (frame && frame->width == canvas->width && frame->height == canvas->height) {
            changes_since(&display->changes, frame->sequence, NULL, stale, NULL);
            *stale = region_clip(*stale, canvas->width, canvas->height);
            return frame;
        }
    }
    frame_release(frame);
    return frame_new(canvas->width, canvas->height);
}

struct frame *frame_copy(struct display *display, const struct canvas *canvas, uint64_t sequence,
                         int64_t time_ms)
{
    struct action_region stale;
    struct frame *frame = take_frame(display, canvas, &stale);
    if (!frame)
        return NULL;
    frame->sequence = sequence;
    frame->time_ms = time_ms;
    for (int32_t y = stale.y; y < stale.y + stale.height; y++) {
        size_t at = (size_t)y * frame->width + (size_t)stale.x;
        memcpy(frame->pixels + at, canvas->pixels + at, (size_t)stale.width * sizeof(uint32_t));
    }
    return frame;
}

bool frame_is_blank(const struct frame *frame)
{
    size_t count = (size_t)frame->width * frame->height;
    for (size_t i = 1; i < count; i++)
        if (frame->pixels[i] != frame->pixels[0])
            return false;
    return true;
}
