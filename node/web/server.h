/*
 * An HTTP/1.1 server on a loopback address with a thread for each connection, so that a handler may simply
 * block. It guards (guard.h), routes, asks who the caller is, reads the body within its bound, and turns
 * errors into answers; what the routes do is their owner's business.
 */
#ifndef BERTHOS_WEB_SERVER_H
#define BERTHOS_WEB_SERVER_H

#include <stdint.h>

#include "base/error.h"
#include "base/peer.h"
#include "web/exchange.h"

/* What a request may take from its first byte to its last. */
#define WEB_REQUEST_MS 10000

struct web_server; /* opaque */

struct web_options {
    const char *bind; /* loopback address; borrowed for the start alone */
    uint16_t port;    /* 0: the kernel chooses */
    const struct route *const
        *tables;       /* each ended by a route without a method; the list by NULL. Borrowed */
    const char *large; /* path of the route whose bodies may be WEB_BODY_LARGE_MAX; static */
    const char
        *landing;  /* path of a page without authority that a page elsewhere may lead to; NULL. Static */
    void *context; /* of every exchange; borrowed */
    unsigned connections_max; /* at once; more are closed unanswered */
    unsigned strangers_max;   /* of these, for all who are no operators; see web/connections.h */
    unsigned stranger_max;    /* for one of them; more are refused with ERROR_TOO_MANY */
    int64_t request_ms;       /* what a request may take from its first byte to its last; 0: WEB_REQUEST_MS */
    const struct peer_policy
        *peers;    /* who connects: a refused one is closed unanswered. See peer_judge(); borrowed */
    bool upgrades; /* routes may answer with an upgrade (MHD_ALLOW_UPGRADE) */

    /*
     * Says whether the caller may have a route that is not AUTH_NONE, before the body is looked at; may set
     * exchange->grant and exchange->session. -1 with the refusal.
     */
    int (*authorize)(struct exchange *exchange, const struct route *route, struct error *err);

    /* Told of each request that was refused with 401, 403 or 429; may be NULL. */
    void (*refused)(struct exchange *exchange, const struct error *reason);

    /* Called when a request is over, however it ended, where authorize() was called; may be NULL. */
    void (*completed)(struct exchange *exchange);
};

/* Starts to listen. NULL with ERROR_INTERNAL when the address cannot be had. *Owned*: web_server_stop(). */
struct web_server *web_server_start(const struct web_options *options, struct error *err);

/* The port that is listened on. */
uint16_t web_server_port(const struct web_server *server);

/* Accepts no new connections; those that are there go on. */
void web_server_quiesce(struct web_server *server);

/* Returns when every handler has returned and every connection is closed; upgraded ones must be over before.
 */
void web_server_stop(struct web_server *server);

#endif
