/* The routes /health, /v1/eligibility, /v1/node, /v1/park, /v1/unpark. Private to http/. */
#ifndef BERTHOS_HTTP_ROUTES_NODE_H
#define BERTHOS_HTTP_ROUTES_NODE_H

#include "web/exchange.h"

/* Ended by a route without a method. */
extern const struct route routes_node[];

#endif
