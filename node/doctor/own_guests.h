/*
 * This node's own guests, told by their metadata: what they hold of the host now, and what they were
 * promised. Private to doctor/.
 */
#ifndef BERTHOS_DOCTOR_OWN_GUESTS_H
#define BERTHOS_DOCTOR_OWN_GUESTS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "doctor/probe.h"
#include "guest/owned.h"

/* In the name of a canary, and of no berth's guest. */
#define OWN_CANARY_MARK "-canary-"

struct own_guests {
    int64_t leases, spares; /* how many are a lease's, and how many wait for one */
    int64_t mem_mib;        /* what they hold */
    int64_t spare_mem_mib;  /* of that, what those hold that wait for a lease */
    int64_t owed_mib;       /* what they may yet take of the memory that they were promised */
    int64_t apart_mem_mib;  /* what those hold that are not counted above, since they are about to go */
    int64_t apart_vcpu;     /* and their vCPUs */
};

/*
 * Looks at the domains whose metadata names node_id. The one of the UUID `apart` (NULL: none), and
 * canaries, are counted apart from the others. 0, or -1 with ERROR_HYPERVISOR.
 */
int own_guests(struct hypervisor *hypervisor, const char *node_id, const char *apart, int64_t timeout_ms,
               struct own_guests *own, struct error *err);

/* Counts one of them, which holds so much. Pure. */
void own_count(struct own_guests *own, const struct guest_owned *guest, int64_t holds_mib, const char *apart);

/*
 * The memory of a process that would be free without it, MiB: what it has written, not the files that it has
 * mapped, which MemAvailable counts already. 0 when it cannot be told.
 */
int64_t own_process_mib(const struct probe_roots *roots, pid_t pid);

/* How many of the node's first so many berths have a saved state in `folder`: its document is written last.
 */
int64_t own_saved_states(const char *folder, const char *node_id, int64_t berths);

#endif
