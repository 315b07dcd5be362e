/* The routes of a view's listener and who may call them. Private to view/. */
#ifndef BERTHOS_VIEW_ROUTES_VIEW_H
#define BERTHOS_VIEW_ROUTES_VIEW_H

#include <pthread.h>

#include "view/assets.h"
#include "view/audience.h"
#include "view/tickets.h"
#include "view/view.h"
#include "web/server.h"

/* What the routes reach; made and freed by view.c. */
struct view {
    char *lease_id;              /* owned */
    char owner[DIGEST_HEX_SIZE]; /* id of the grant that made the lease */
    struct view_options options; /* its strings are not used */
    struct assets *assets;       /* owned */
    struct tickets *tickets;     /* owned */
    struct audience *audience;   /* owned */
    struct web_server *server;   /* owned */

    pthread_mutex_t mutex; /* guards what follows; no other lock is taken under it */
    pthread_cond_t answered;
    size_t requests; /* with a credential, that are being answered; viewers among them */
};

/* Ended by a route without a method. */
extern const struct route routes_view[];

/* web_options.authorize and web_options.completed of the listener. */
int routes_authorize(struct exchange *exchange, const struct route *route, struct error *err);
void routes_completed(struct exchange *exchange);

#endif
