/*
 * What goes on beside the callers: threads of their own, which a stop of the node waits for, and the call
 * that wakes the keeper (keeper.h). Private to lease/.
 */
#ifndef BERTHOS_LEASE_JOBS_H
#define BERTHOS_LEASE_JOBS_H

#include "lease/berth.h"

/* Has the keeper look at all berths now: something changed. */
void jobs_wake_keeper(struct leases *leases);

/* Runs work(berth, id) on a thread of its own, and wakes the keeper after it. id: copied, of the lease that
 * it is for; LEASE_ID_SIZE bytes. */
void jobs_start(struct berth *berth, const char *id, const char *name,
                void (*work)(struct berth *berth, const char *id));

/* With leases.mutex held: returns when there is none any more. */
void jobs_await(struct leases *leases);

#endif
