/* The guests of a node, and whose they become: told by our metadata alone, never by a domain's name. */
#ifndef BERTHOS_GUEST_OWNED_H
#define BERTHOS_GUEST_OWNED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/handle.h"

/* A domain that carries our metadata. Strings are owned. */
struct guest_owned {
    struct guest guest;
    char *name;
    char *node_id;
    char *lease_id;        /* "" when it was not leased */
    int64_t vcpu, mem_mib; /* its shape; 0 when it could not be told */
};

/* Lists the domains whose metadata names node_id; foreign domains are never listed. *list is *owned*. */
int guest_list_owned(struct hypervisor *hypervisor, const char *node_id, int64_t timeout_ms,
                     struct guest_owned **list, size_t *count, struct error *err);
void guest_list_free(struct guest_owned *list, size_t count);

/*
 * Makes a guest that was started for nobody (lease "" in its metadata) the lease's: its metadata names the
 * lease, and its vCPUs go on if they stood. Both ids are as in guest_spec.
 */
int guest_claim(const struct guest *guest, const char *node_id, const char *lease_id, int64_t timeout_ms,
                struct error *err);

#endif
