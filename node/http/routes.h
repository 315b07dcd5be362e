/* The routes of the node's own server, one table a resource. Private to http/. */
#ifndef BERTHOS_HTTP_ROUTES_H
#define BERTHOS_HTTP_ROUTES_H

#include "http/http.h"
#include "web/exchange.h"

/* Each is ended by a route without a method. */
extern const struct route routes_node[];
extern const struct route routes_pairing[];
extern const struct route routes_leases[];
extern const struct route routes_screen[];

/* What the routes reach. Borrowed. */
static inline const struct http_context *http_context(const struct exchange *exchange)
{
    return exchange->context;
}

#endif
