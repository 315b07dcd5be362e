/* Our metadata in a domain: which node's it is, and whose lease it serves. Private to guest/. */
#ifndef BERTHOS_GUEST_METADATA_H
#define BERTHOS_GUEST_METADATA_H

#include <libvirt/libvirt.h>
#include <stdbool.h>

#define GUEST_METADATA_NAMESPACE "https://berthos.dev/xmlns/domain/1"

/* Whether the domain carries our metadata; then *node_id and *lease_id are set (owned, never NULL). */
bool metadata_read(virDomainPtr domain, char **node_id, char **lease_id);

#endif
