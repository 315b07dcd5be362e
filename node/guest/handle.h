/*
 * The handle of a guest: which run of which domain, and by which hypervisor.
 *
 * A berth's domains have one UUID, one after the other; libvirt's domain id tells them apart. Whoever acts on
 * a guest compares it first, so a call that is late meets no guest but its own: what is gone is
 * ERROR_NOT_FOUND, whatever runs under the UUID by then. A handle is plain data: copy it, and act by the
 * copy.
 */
#ifndef BERTHOS_GUEST_HANDLE_H
#define BERTHOS_GUEST_HANDLE_H

#include <stdio.h>

struct hypervisor; /* hypervisor.h */

#define GUEST_UUID_SIZE 37

/* In guest.run: whichever run there is when the call is made. For whom the UUID is for himself alone: he who
 * prepares a guest or takes one away. */
#define GUEST_ANY_RUN 0

struct guest {
    struct hypervisor *hypervisor; /* borrowed */
    char uuid[GUEST_UUID_SIZE];    /* of the domain, text form */
    int run;                       /* libvirt's id of the domain's run (from 1 on), or GUEST_ANY_RUN */
};

/* The handle of a domain of which no run is known. */
static inline struct guest guest_any_run(struct hypervisor *hypervisor, const char *uuid)
{
    struct guest guest = {.hypervisor = hypervisor, .run = GUEST_ANY_RUN};
    snprintf(guest.uuid, sizeof guest.uuid, "%s", uuid);
    return guest;
}

#endif
