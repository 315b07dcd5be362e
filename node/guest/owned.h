/* Reading our metadata from a domain. Private to guest/. */
#ifndef BERTHOS_GUEST_OWNED_H
#define BERTHOS_GUEST_OWNED_H

#include <libvirt/libvirt.h>
#include <stdbool.h>

/* Whether the domain carries our metadata; then *node_id and *lease_id are set (owned, never NULL). */
bool owned_read(virDomainPtr domain, char **node_id, char **lease_id);

#endif
