/*
 * A deadline for each request, head and body, counted from its first byte. libmicrohttpd knows a time of
 * silence alone: whoever sends one byte a minute would keep a connection, and its thread, for as long as he
 * likes. Private to web/.
 */
#ifndef BERTHOS_WEB_DEADLINES_H
#define BERTHOS_WEB_DEADLINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct deadlines; /* opaque */

/* One connection; a member of what its owner keeps for it. Zeroed before deadlines_await(). */
struct deadline {
    int socket;
    bool waits;        /* for a request, or for the rest of one */
    uint64_t received; /* bytes of the connection when it began to wait */
    int64_t at_ms;     /* monotonic: when the request must be here; 0 before its first byte */
    struct deadline *next;
};

/* length_ms: what a request may take. NULL with ERROR_INTERNAL. *Owned*: deadlines_stop(), when no connection
 * is left. */
struct deadlines *deadlines_start(int64_t length_ms, struct error *err);
void deadlines_stop(struct deadlines *deadlines);

/*
 * The next byte that comes on the socket begins a request. When that is not here in time (or a
 * tenth of it later), the client is answered with 408 and the socket is shut down. deadline: borrowed until
 * deadlines_forget().
 */
void deadlines_await(struct deadlines *deadlines, struct deadline *deadline, int socket);

/* The request is here. */
void deadlines_met(struct deadlines *deadlines, struct deadline *deadline);

/* The connection is over; its socket must still be open. */
void deadlines_forget(struct deadlines *deadlines, struct deadline *deadline);

#endif
