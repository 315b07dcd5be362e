/*
 * Who has the keyboard's focus, and whether that program has come to the end of the events it was sent: a
 * window manager's ping (Extended Window Manager Hints, _NET_WM_PING) is answered in order with them.
 */
#ifndef HELPER_FOCUS_H
#define HELPER_FOCUS_H

#include <stdbool.h>
#include <stdint.h>

#include <xcb/xcb.h>

struct focus {
    xcb_connection_t *x; /* borrowed */
    xcb_window_t root;
    xcb_atom_t protocols, ping;
    uint32_t serial; /* of the last ping */
};

/* The window that has the focus; 0 when none has. */
xcb_window_t focus_window(struct focus *focus);

/* Sends a ping to the program of this window; false when it has none that answers pings. */
bool focus_ping(struct focus *focus, xcb_window_t window);

/* Whether this event is the answer to the last ping. */
bool focus_is_answer(const struct focus *focus, const xcb_generic_event_t *event);

/* Has the answers sent to us (they go to the root window), or no more. */
void focus_listen(struct focus *focus, bool on);

/* Interns the atoms. */
bool focus_open(struct focus *focus);

#endif
