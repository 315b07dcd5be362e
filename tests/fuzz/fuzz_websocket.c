/*
 * WebSocket frames from a client: whole and in pieces they must mean the same, nothing follows a close or a
 * fault, and what the items say keeps to its bounds. The first byte is the length of a piece.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "view/frames.h"

/* What came of it: the data, and a line for each of the other items. */
struct story {
    uint8_t *data;
    size_t size;
    char marks[1 << 16];
    size_t mark_count;
};

static void check(bool good)
{
    if (!good)
        abort();
}

static void mark(struct story *story, uint8_t value)
{
    if (story->mark_count < sizeof story->marks)
        story->marks[story->mark_count++] = (char)value;
}

static void take(struct frames *frames, struct story *story, bool *over)
{
    for (;;) {
        struct frames_item item = frames_next(frames);
        check(!*over || item.kind == FRAMES_MORE);
        if (item.kind == FRAMES_MORE)
            return;
        if (item.kind == FRAMES_DATA) {
            check(item.size > 0);
            memcpy(story->data + story->size, item.data, item.size);
            story->size += item.size;
            continue;
        }
        mark(story, (uint8_t)item.kind);
        mark(story, (uint8_t)(item.code & 0xff));
        if (item.kind == FRAMES_PING || item.kind == FRAMES_PONG) {
            check(item.size <= FRAMES_CONTROL_MAX);
            for (size_t i = 0; i < item.size; i++)
                mark(story, item.data[i]);
        } else {
            check(item.code >= 1000 && item.code <= 4999);
            check(item.kind == FRAMES_CLOSE || item.reason);
            *over = true;
        }
    }
}

static void tell(const uint8_t *data, size_t size, size_t step, struct story *story)
{
    bool over = false;
    struct frames *frames = frames_new();
    story->data = malloc(size + 1);
    story->size = story->mark_count = 0;
    for (size_t at = 0; at < size; at += step) {
        frames_feed(frames, data + at, at + step < size ? step : size - at);
        take(frames, story, &over);
    }
    frames_free(frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct story whole, pieces;
    if (size < 2)
        return 0;
    tell(data + 1, size - 1, size, &whole);
    tell(data + 1, size - 1, (size_t)data[0] + 1, &pieces);
    check(whole.size == pieces.size && memcmp(whole.data, pieces.data, whole.size) == 0);
    check(whole.mark_count == pieces.mark_count && memcmp(whole.marks, pieces.marks, whole.mark_count) == 0);
    free(whole.data);
    free(pieces.data);
    return 0;
}
