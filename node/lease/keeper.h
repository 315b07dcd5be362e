/*
 * What happens to leases without anybody asking: expiry, a guest that died, stamps of occupancy, ends to
 * retry, spares. A thread that sleeps while there is nothing to do; jobs_wake_keeper() wakes it. Private to
 * lease/.
 */
#ifndef BERTHOS_LEASE_KEEPER_H
#define BERTHOS_LEASE_KEEPER_H

#include "base/error.h"

struct leases;

int keeper_start(struct leases *leases, struct error *err);

/* With leases.stopping set: returns when it and all jobs have ended. Fine where it was never started. */
void keeper_join(struct leases *leases);

#endif
