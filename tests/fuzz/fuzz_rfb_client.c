/*
 * What a viewer says in RFB: whole and in pieces the same must pass, what passes must pass again unchanged,
 * and of one who watches nothing that acts may. The first byte is the length of a piece, its top bit
 * watching.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "display/holds.h"
#include "view/rfb_filter.h"

struct result {
    uint8_t *out;
    size_t size, owed;
    enum close_code code;
    size_t acts;
};

static void check(bool good)
{
    if (!good)
        abort();
}

static bool note_key(void *context, uint32_t key, bool down)
{
    (void)down;
    ++*(size_t *)context;
    check(key & HOLDS_KEYSYM || (key >= 1 && key <= 255));
    return true;
}

static void note_pointer(void *context, uint16_t x, uint16_t y, uint8_t buttons)
{
    (void)x;
    (void)y;
    (void)buttons;
    ++*(size_t *)context;
}

static void run(const uint8_t *data, size_t size, size_t step, bool watch, struct result *result)
{
    static struct rfb_filter filter;
    struct rfb_fault fault = {CLOSE_NONE, NULL};
    struct rfb_hooks hooks = {&result->acts, note_key, note_pointer};
    memset(result, 0, sizeof *result);
    result->out = malloc(size + RFB_MESSAGE_MAX);
    rfb_filter_start(&filter, watch, &hooks);
    for (size_t at = 0; at < size && fault.code == CLOSE_NONE; at += step) {
        size_t part = at + step < size ? step : size - at;
        uint8_t *piece = malloc(rfb_filter_room(part));
        size_t got = rfb_filter_run(&filter, data + at, part, piece, &fault);
        check(got <= rfb_filter_room(part));
        check(result->size + got <= size);
        memcpy(result->out + result->size, piece, got);
        result->size += got;
        free(piece);
    }
    check(fault.code == CLOSE_NONE || fault.reason);
    check(fault.code == CLOSE_NONE || fault.code == CLOSE_PROTOCOL || fault.code == CLOSE_TOO_LARGE);
    result->code = fault.code;
    result->owed = rfb_filter_owed(&filter);
    check(result->owed <= RFB_CLIPBOARD_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct result whole, pieces, again;
    if (size < 2)
        return 0;
    bool watch = data[0] & 0x80;
    run(data + 1, size - 1, size, watch, &whole);
    run(data + 1, size - 1, (size_t)(data[0] & 0x7f) + 1, watch, &pieces);
    check(whole.size == pieces.size && memcmp(whole.out, pieces.out, whole.size) == 0);
    check(whole.code == pieces.code && whole.owed == pieces.owed && whole.acts == pieces.acts);
    run(whole.out, whole.size, whole.size + 1, false, &again);
    check(again.code == CLOSE_NONE && again.size == whole.size && again.owed == whole.owed);
    check(memcmp(whole.out, again.out, whole.size) == 0);
    check(watch ? whole.acts == 0 && again.acts == 0 : again.acts == whole.acts);
    free(whole.out);
    free(pieces.out);
    free(again.out);
    return 0;
}
