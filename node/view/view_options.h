/* What a guest view is opened with, and its bounds. */
#ifndef BERTHOS_VIEW_VIEW_OPTIONS_H
#define BERTHOS_VIEW_VIEW_OPTIONS_H

#include <stdint.h>

#include "base/error.h"
#include "base/peer.h"
#include "display/display.h"
#include "pairing/pairing.h"
#include "view/view_mode.h"

#define VIEW_SECRET_SIZE 65 /* 64 hex digits and the terminator: a ticket or a session secret */
#define VIEW_TICKET_S    60
#define VIEW_VIEWERS_MAX 8

struct view_options {
    const char *lease_id;            /* copied */
    const char *owner;               /* id of the grant that made the lease; copied */
    int64_t expires_ms;              /* realtime; 0 = never */
    int64_t expires_boot_ms;         /* the same by clock_boottime_ms(); CLOCK_NEVER = never */
    const char *assets;              /* folder of the page; copied */
    const struct peer_policy *peers; /* who may connect; borrowed */
    struct pairing *pairing;         /* borrowed */
    struct holds *holds;             /* of the guest; borrowed */

    /* What /screenshot and /action reach; see display_screenshot() and display_act(). */
    struct picture *(*screenshot)(void *context, const struct picture_request *request, struct cancel *cancel,
                                  struct error *err);
    int (*act)(void *context, const struct display_act *act, struct cancel *cancel,
               struct display_acted *acted, struct error *err);

    /* A connected descriptor of its own for the guest's VNC server, *owned* by the caller; -1 with *err. */
    int (*open_display)(void *context, struct error *err);

    /* Told when a viewer comes (reason NULL) and when it has gone, and why. grant: whom it came by. May be
     * NULL. */
    void (*witness)(void *context, const char *grant, enum view_mode mode, const char *reason);
    void *context; /* borrowed */
};

#endif
