/*
 * Waiting for the screen to change or to be still. Nobody polls pixels: the thread writes down what it has
 * seen to change (changes.h), and while somebody waits it keeps QEMU looking (session.h, "Changes"). Private
 * to display/. No lock is held at any call. Errors: ERROR_CANCELLED, and as display_capture().
 */
#ifndef BERTHOS_DISPLAY_WATCH_H
#define BERTHOS_DISPLAY_WATCH_H

#include "display/session.h"

/*
 * Waits for a screen that has changed since now, or for one that stays still (action.h). cancel may be NULL;
 * who passes one has it wake the session. ERROR_TIMEOUT when neither comes in time.
 */
int watch_wait(struct session *session, const struct action *action, struct cancel *cancel,
               int64_t deadline_ms, struct error *err);

/* Waits until the screen has changed after its pixels had a sequence number. 1 when the deadline came first.
 */
int watch_since(struct session *session, uint64_t since, int64_t deadline_ms, struct error *err);

/*
 * Waits until the screen, or a region of it, has been still for still_ms, counted from the last change or the
 * last input at the earliest, and says up to when everything has been seen. *still is false when the deadline
 * came first.
 */
int watch_still(struct session *session, const struct action_region *region, int64_t still_ms,
                struct cancel *cancel, int64_t deadline_ms, bool *still, int64_t *seen_ms, struct error *err);

#endif
