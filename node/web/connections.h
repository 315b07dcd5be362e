/*
 * The connections of a server: who is at the other end, whether he has more than his share, and how long each
 * request may take. Private to web/.
 *
 * An operator may have all of them. Strangers together leave a reserve free, and each uid has a share of its
 * own, those whom the kernel does not name together one. A few more are taken, to be told so; what is beyond
 * them is closed unanswered, as is what would take the last descriptors of the process, which the journal
 * needs.
 */
#ifndef BERTHOS_WEB_CONNECTIONS_H
#define BERTHOS_WEB_CONNECTIONS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/peer.h"
#include "web/deadlines.h"

/* Descriptors of the process that no connection takes. */
#define CONNECTIONS_DESCRIPTORS 64

struct connections; /* opaque */

/* One of them. */
struct connection {
    struct peer peer;
    bool over; /* more than the peer's share: to be told so and closed */
    bool counted;
    struct deadline deadline;
};

struct connections_limits {
    unsigned strangers;  /* of all strangers together */
    unsigned share;      /* of one of them */
    int64_t deadline_ms; /* of a request; see deadlines_start() */
};

/* NULL with ERROR_INTERNAL. *Owned*: connections_free(), when none is left. */
struct connections *connections_new(const struct connections_limits *limits, struct error *err);
void connections_free(struct connections *connections);

/* A connection has come. NULL when there is no memory. *Owned*: connections_leave(). Where it is one too many
 * its socket is shut down. */
struct connection *connections_enter(struct connections *connections, const struct peer *peer, int socket);

/* It is over; its socket is still open. May be NULL. */
void connections_leave(struct connections *connections, struct connection *connection);

/* The request is here whole; it was answered, and another one may come. connection may be NULL. */
void connections_request(struct connections *connections, struct connection *connection);
void connections_answered(struct connections *connections, struct connection *connection);

#endif
