/* What the routes of the node's own server reach. */
#ifndef BERTHOS_HTTP_HTTP_CONTEXT_H
#define BERTHOS_HTTP_HTTP_CONTEXT_H

#include "base/audit.h"
#include "base/peer.h"
#include "config/config.h"
#include "doctor/eligibility.h"
#include "lease/leases.h"
#include "pairing/pairing.h"
#include "web/exchange.h"

/* All of it is borrowed for the life of the server. */
struct http_context {
    const struct config *config;
    const char *bind; /* loopback address */
    const struct peer_policy *peers;
    struct eligibility *eligibility;
    struct pairing *pairing;
    struct leases *leases;
    struct audit *audit; /* NULL: none is kept */
};

/* Of an exchange. Borrowed. */
static inline const struct http_context *http_context(const struct exchange *exchange)
{
    return exchange->context;
}

#endif
