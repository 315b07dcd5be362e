/*
 * One connection to libvirt with its subscriptions to domain events, and the event loop of the process.
 * Private to guest/.
 */
#ifndef BERTHOS_GUEST_LINK_H
#define BERTHOS_GUEST_LINK_H

#include <libvirt/libvirt.h>

#include "base/error.h"

/* Who is told; the functions run on the event thread and must not block or call libvirt. */
struct link_listener {
    void *context;
    /* Something happened: what libvirt's lifecycle event says of a domain; NULL: it was something else. */
    void (*happened)(void *context, virDomainPtr domain, int event, int detail);
    void (*subscribed)(void *context,
                       int difference); /* +1 and -1: context is referred to while the sum is not 0 */
};

struct link {
    virConnectPtr connection;
    int lifecycle, agent; /* callback ids, -1 when there is none */
};

/* Opens a connection and subscribes. Blocks as libvirt does. NULL with ERROR_HYPERVISOR. *Owned*:
 * link_close(). */
struct link *link_open(const char *uri, const struct link_listener *listener, struct error *err);

/* Ends the subscriptions, which hold references to the connection, and gives up ours. Blocks as libvirt does.
 */
void link_close(struct link *link);

/* Starts the event loop; must come before the first link_open(). May be called again. */
void link_start_event_loop(void);

#endif
