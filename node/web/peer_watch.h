/* Notices that a client has gone while its request is worked on. Private to web/. */
#ifndef BERTHOS_WEB_PEER_WATCH_H
#define BERTHOS_WEB_PEER_WATCH_H

#include "base/cancel.h"
#include "base/error.h"

struct peer_watch; /* opaque */

/* Starts the thread that waits; it sleeps until a watched socket is closed by its peer. NULL with
 * ERROR_INTERNAL. *Owned*: peer_watch_stop(). */
struct peer_watch *peer_watch_start(struct error *err);
void peer_watch_stop(struct peer_watch *watch);

/*
 * Fires `cancel` (borrowed until peer_watch_remove()) once the peer of a socket closes its sending side:
 * nobody of ours who still wants an answer does that. A socket that cannot be watched is not: the request
 * then simply runs to its end.
 */
void peer_watch_add(struct peer_watch *watch, int socket, struct cancel *cancel);

/* When it returns, the cancel is not referred to any more. */
void peer_watch_remove(struct peer_watch *watch, int socket);

#endif
