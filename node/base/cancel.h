/*
 * A wish to stop, told from one thread to another that is busy: a client that went away, an agent that
 * changed its mind. Firing cannot be taken back.
 */
#ifndef BERTHOS_BASE_CANCEL_H
#define BERTHOS_BASE_CANCEL_H

#include <stdbool.h>

#include "base/cleanup.h"

struct cancel; /* opaque */

/* *Owned*: cancel_free(), when nobody listens or fires any more. Never NULL. */
struct cancel *cancel_new(void);
void cancel_free(struct cancel *cancel);
CLEANUP_DEFINE(cancel, struct cancel *, cancel_free);

/* Whether it has fired; false for NULL. Takes no lock. */
bool cancel_fired(const struct cancel *cancel);

/* Fires: wakes the listener, now and once. */
void cancel_fire(struct cancel *cancel);

/*
 * Sets the one listener; wake(context) is called on the firing thread, or at once on this one when it has
 * fired already. It may take locks, but must not call back into the cancel. NULL as cancel: nothing happens.
 */
void cancel_listen(struct cancel *cancel, void (*wake)(void *context), void *context);

/* Takes the listener away; when it returns, wake() does not run and will not. Hold no lock that wake() takes.
 */
void cancel_unlisten(struct cancel *cancel);

#endif
