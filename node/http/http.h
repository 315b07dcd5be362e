/*
 * HTTP on loopback (CONTRACT.md section 3): a server with a thread for each connection, so that a handler may
 * simply block. It has no logic of its own: routes decode, call lease/, pairing/ or doctor/, and encode.
 */
#ifndef BERTHOS_HTTP_HTTP_H
#define BERTHOS_HTTP_HTTP_H

#include <stdint.h>

#include "config/config.h"
#include "doctor/eligibility.h"
#include "lease/leases.h"
#include "pairing/pairing.h"

/* Everything the routes reach; borrowed for the life of the server. */
struct http_context {
    const struct config *config;
    const char *bind; /* loopback address */
    struct eligibility *eligibility;
    struct pairing *pairing;
    struct leases *leases;
};

struct http_server; /* opaque */

/*
 * Starts to listen on context->bind and `port` (0: the kernel chooses). NULL with ERROR_INTERNAL when the
 * address cannot be had. *Owned*: http_server_stop().
 */
struct http_server *http_server_start(const struct http_context *context, uint16_t port, struct error *err);

/* The port that is listened on. */
uint16_t http_server_port(const struct http_server *server);

/* Accepts no new connections; those that are there go on. */
void http_server_quiesce(struct http_server *server);

/* Returns when every handler has returned and every connection is closed. */
void http_server_stop(struct http_server *server);

#endif
