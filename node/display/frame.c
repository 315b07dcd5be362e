#include "display/frame.h"

#include <stdlib.h>

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

bool frame_is_blank(const struct frame *frame)
{
    size_t count = (size_t)frame->width * frame->height;
    for (size_t i = 1; i < count; i++)
        if (frame->pixels[i] != frame->pixels[0])
            return false;
    return true;
}
