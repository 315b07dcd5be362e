/* The routes /v1/leases, and what ends or describes a lease. Private to http/. */
#ifndef BERTHOS_HTTP_ROUTES_LEASES_H
#define BERTHOS_HTTP_ROUTES_LEASES_H

#include "web/exchange.h"

/* Ended by a route without a method. */
extern const struct route routes_leases[];

#endif
