/* What a session reaches of its guest beside the display: the program that helps inside it, and its agent. */
#ifndef BERTHOS_DISPLAY_DISPLAY_HELPER_H
#define BERTHOS_DISPLAY_DISPLAY_HELPER_H

#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "protocol/action.h"

/*
 * The functions are called without a lock on the thread that performs an action, block until their deadline
 * (clock.h) at most, and may be NULL where the guest has no such thing.
 */
struct display_helper {
    void *context;

    /* By the guest's agent. Returns 0 when the guest's kernel has taken every key event that QEMU gave it
     * before the call. */
    int (*confirm)(void *context, int64_t deadline_ms, struct error *err);

    /* Types a text whole; *typed says how many characters were entered, also on failure. */
    int (*type)(void *context, const char *text, size_t size, const struct cancel *cancel,
                int64_t deadline_ms, size_t *typed, struct error *err);

    /* Clicks a button that QEMU's VNC server does not have (back, forward). */
    int (*click)(void *context, struct action_point at, enum action_button button, int count,
                 int64_t deadline_ms, struct error *err);

    /* Turns the horizontal wheel, in notches to the right. */
    int (*scroll)(void *context, struct action_point at, int32_t dx, int64_t deadline_ms, struct error *err);
};

#endif
