/* Names of keys, as a client may send them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "display/scancode.h"
#include "protocol/key_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[256];
    if (size >= sizeof name)
        return 0;
    memcpy(name, data, size);
    name[size] = '\0';

    struct key_chord chord = {.modifiers = 0, .key = 0}, again = chord;
    struct error err = ERROR_INIT;
    if (keys_parse(name, &chord, &err) < 0) {
        if ((err.code != ERROR_BAD_REQUEST && err.code != ERROR_UNTYPABLE) || err.text[0] == '\0')
            abort();
        return 0;
    }
    /* What the hands rely on: something to press, on a key that QEMU knows, and the same each time. */
    if (chord.key == 0 ? chord.modifiers == 0 : scancode_of(chord.key) == 0)
        abort();
    if (chord.modifiers & ~(unsigned)(MODIFIER_SHIFT | MODIFIER_CTRL | MODIFIER_ALT | MODIFIER_SUPER))
        abort();
    if (keys_parse(name, &again, &err) < 0 || again.key != chord.key || again.modifiers != chord.modifiers)
        abort();
    return 0;
}
