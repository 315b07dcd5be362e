/* The inside of a view, shared by view.c and the routes of its listener alone. Private to view/. */
#ifndef BERTHOS_VIEW_VIEW_INSIDE_H
#define BERTHOS_VIEW_VIEW_INSIDE_H

#include <pthread.h>

#include "view/assets.h"
#include "view/audience.h"
#include "view/tickets.h"
#include "view/view_options.h"
#include "web/server.h"

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

#endif
