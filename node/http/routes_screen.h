/* The routes /v1/leases/{id}/screenshot and /v1/leases/{id}/actions. Private to http/. */
#ifndef BERTHOS_HTTP_ROUTES_SCREEN_H
#define BERTHOS_HTTP_ROUTES_SCREEN_H

#include "web/exchange.h"

/* Ended by a route without a method. */
extern const struct route routes_screen[];

#endif
