/*
 * A text field under the US keyboard layout: key events in, the bytes that it would hold out. Pure, and the
 * judge of whether typing was exact.
 */
#ifndef TEST_GUEST_TEXT_H
#define TEST_GUEST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_MAX = 1 << 20, TEXT_KEY_MAX = 256 };

struct text {
    bool down[TEXT_KEY_MAX]; /* by Linux key code */
    bool caps_lock;
    size_t length;
    char bytes[TEXT_MAX]; /* not terminated; what comes after it is full is dropped */
};

/*
 * Takes one EV_KEY event (value 0 up, 1 down, 2 repeated). True when the bytes changed. Shift and CapsLock
 * are honoured; with Ctrl, Alt or Super down nothing is inserted; Enter is "\n", Tab is "\t" unless Shift is
 * down, Backspace removes the last byte.
 */
bool text_key(struct text *text, uint16_t code, int32_t value);

/* Inserts bytes as they are, as an input method does. True when they found room. */
bool text_insert(struct text *text, const char *bytes, size_t size);

/* Empties the field and releases CapsLock; keys that are down stay down. */
void text_reset(struct text *text);

#endif
