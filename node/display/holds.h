/*
 * Who holds which keys and buttons down on one guest, and where its pointer is: the node's own session and
 * every viewer tell it here, so that each knows what is down, and what nobody holds any more can be released.
 *
 * All functions may be called from any thread and none blocks.
 */
#ifndef BERTHOS_DISPLAY_HOLDS_H
#define BERTHOS_DISPLAY_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

/* As many keys as one party may hold; more go unnoticed up to here and are refused by who asks. */
#define HOLDS_KEYS_MAX 32

/*
 * A key as RFB names it: the XT scancode of QEMU's extended key event (1..255, scancode.h), or, from viewers
 * that cannot send that, an X keysym with this bit.
 */
#define HOLDS_KEYSYM (1u << 31)

struct holds;  /* opaque: one guest */
struct holder; /* opaque: one party, the node's session or a viewer */

/* *Owned*: holds_free(), when no holder is left. Never NULL. */
struct holds *holds_new(void);
void holds_free(struct holds *holds);
CLEANUP_DEFINE(holds, struct holds *, holds_free);

/*
 * Keeps the buttons that are down, and where the pointer is, in a small file (0600) that outlives the
 * process, kill -9 too: QEMU reckons with each connection's buttons by themselves and never lifts one whose
 * connection has gone. What an earlier process left there is taken up: see holds_inherit(). Call it before
 * anybody joins. -1 with ERROR_INTERNAL.
 */
int holds_keep(struct holds *holds, const char *path, struct error *err);

/* Forgets what is kept: there is another guest now. */
void holds_forget(struct holds *holds);

/* The buttons (RFB mask) that an earlier process left down on this guest; 0 at the second call. */
uint8_t holds_inherit(struct holds *holds);

/* A party comes and goes. holds_leave() forgets what it held; take what must be released first. */
struct holder *holds_join(struct holds *holds);
void holds_leave(struct holder *holder);

/* Notes that the party has pressed or released a key. False when it holds HOLDS_KEYS_MAX already. */
bool holds_key(struct holder *holder, uint32_t key, bool down);

/* Notes the party's pointer message: position in pixels and RFB button mask. */
void holds_pointer(struct holder *holder, int32_t x, int32_t y, uint8_t buttons);

/* Where the guest's pointer was put last by anybody; false when nobody has moved it. */
bool holds_position(struct holds *holds, int32_t *x, int32_t *y);

/* The keys that the party holds, in the order they went down, and its buttons. Returns how many keys. */
size_t holds_mine(struct holder *holder, uint32_t keys[HOLDS_KEYS_MAX], uint8_t *buttons);

/* The keys that any other party holds, each once, at most `max`. Returns how many. */
size_t holds_others(struct holder *holder, uint32_t *keys, size_t max);

/*
 * Ends a connection to the guest's VNC server. QEMU releases every key of everybody when any of its
 * connections ends (*seen* with 7.2), so that must not happen while the node's session has a key down. True:
 * its sending side was shut down (also when many wait already); the descriptor is the caller's yet, who may
 * wait for QEMU's end of it. False: it is *transferred*, and that is done as soon as may be.
 */
bool holds_shut(struct holds *holds, int fd);

/* For the node's session: it begins to press keys, or is done. True when a connection has ended since it was
 * last told so: QEMU may not have noticed yet. */
bool holds_press(struct holds *holds, bool pressing);

/* Whether a connection waits to be ended. */
bool holds_waiting(struct holds *holds);

/* For the node's session, at a moment without a key down: ends what waits. True when something did. */
bool holds_sweep(struct holds *holds);

#endif
