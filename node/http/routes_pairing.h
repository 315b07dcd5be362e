/* The routes /v1/pairing, /v1/pair, /v1/pairings. Private to http/. */
#ifndef BERTHOS_HTTP_ROUTES_PAIRING_H
#define BERTHOS_HTTP_ROUTES_PAIRING_H

#include "web/exchange.h"

/* Ended by a route without a method. */
extern const struct route routes_pairing[];

#endif
