/*
 * The input method that programs of Xlib (xterm) take text from: a server of the XIM protocol that has one
 * trigger key and nothing else. Ordinary keys never come here ("dynamic event flow"): they cost what they did
 * without it.
 */
#ifndef HELPER_METHOD_H
#define HELPER_METHOD_H

#include <stdbool.h>
#include <stddef.h>

#include <xcb/xcb.h>

struct method; /* opaque */

/* Asked when a program's trigger key came: the text that waits (borrowed, until the next call), NULL when
 * none does. */
typedef const char *method_take(void *context, size_t *size);

/* Opens the server under the name "berthos" (usr/share/berthos/resources). NULL when there is one already. */
struct method *method_open(xcb_connection_t *x, int screen, method_take *take, void *context);

/* Gives it an event; true when it was one of its own. */
bool method_event(struct method *method, xcb_generic_event_t *event);

#endif
