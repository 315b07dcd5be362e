/* The routes of a view's listener and who may call them. Private to view/. */
#ifndef BERTHOS_VIEW_ROUTES_VIEW_H
#define BERTHOS_VIEW_ROUTES_VIEW_H

#include "web/exchange.h"

/* Ended by a route without a method. */
extern const struct route routes_view[];

/* web_options.authorize and web_options.completed of the listener. */
int routes_authorize(struct exchange *exchange, const struct route *route, struct error *err);
void routes_completed(struct exchange *exchange);

#endif
