/*
 * How a text gets into the program that has the focus, exactly.
 *
 * Theory of operation. Keys are no way: a key carries one of the keyboard's characters, remapping key codes
 * races with every program that keeps the keyboard's map, and Chromium, which lays the page out anew after
 * each key, takes some 20 of them a second under emulation. The clipboard is none either: it is the tenant's,
 * and pages and terminals change what is pasted. So text goes the way of input methods, as whole runs:
 *
 *   1. The next run (up to a newline, a tab or RUN_BYTES) is put up as the text that waits.
 *   2. The trigger key is pressed. It reaches the focused program in order with all other keys; the program's
 * input method (immodule.c in GTK programs, Xlib's XIM elsewhere: method.c) asks for the text that waits and
 * inserts it. Chromium sees one keydown with keyCode 229 and one input event for the run, as from any input
 * method.
 *   3. Newline and tab are the keys Return and Tab, after the run before them has been taken. A Tab usually
 * moves the focus, and Chromium's browser process, which has the input method, hears of that later than the
 * page: so behind a Tab the next run waits for the program's word that the focus has moved, for a bounded
 * time, and less each time that no word came (pages and terminals that take the Tab as a character).
 *
 * Who has no text field with the focus does not ask. That is known and not guessed: behind the trigger key
 * goes a ping that window managers use, which programs answer in order with their keys. An answer without a
 * request for the text means that nobody will ask for it. As a program may be about to give a field the focus
 * (a click a moment ago, a Tab), the trigger is repeated for a while; then the text that waits is withdrawn,
 * so that it can never be entered late or twice, and the run goes by keys if all that is left of the text is
 * ASCII, or the text is given up.
 *
 * Nothing here depends on locks or on keys that somebody holds: commits do not, modifiers are lifted first,
 * and for keys CapsLock is made up for.
 */
#ifndef HELPER_ENTRY_H
#define HELPER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "focus.h"
#include "keyboard.h"

struct entry {
    struct keyboard keyboard;
    struct focus focus;
    /* Serves the X connection and the socket until the time (milliseconds, CLOCK_MONOTONIC) or the first
     * event. */
    void (*serve)(void *context, int64_t until_ms);
    void *context;

    const char *waiting; /* the text that waits for a trigger; NULL: none. Borrowed */
    size_t waiting_size;
    bool taken;       /* it was asked for */
    bool answered;    /* the ping came back */
    int64_t moved_ms; /* when a program last said that the focus moved among its fields; 0: not since the last
                         Tab */
    bool by_method; /* the last text was taken by a program of Xlib: a terminal, where a Tab moves nothing */
    bool stopped;   /* whoever wanted the text entered does not any more */
    int hope_ms;    /* how long a field may take to get the focus, for the next run */
    int move_ms;    /* how long to wait for the word that a Tab has moved it */
    xcb_window_t deaf; /* a program that neither asks nor answers: not to be waited for again */
};

/* Tells it that the focus has moved between fields of a program. */
void entry_focus_moved(struct entry *entry);

/* Why a text was not entered, or NULL. *typed: the characters that were. */
const char *entry_type(struct entry *entry, const char *text, size_t size, size_t *typed);

/* Hands out the text that waits, once. NULL when none does. */
const char *entry_take(struct entry *entry, size_t *size);

/* Shows it an event of the X server. */
void entry_event(struct entry *entry, const xcb_generic_event_t *event);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t entry_now_ms(void);

#endif
