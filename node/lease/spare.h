/*
 * Spares: guests that wait before anybody asks for them. Private to lease/.
 *
 * While the node is parked the keeper sees to it that every berth has a guest that no tenant ever touched:
 * started and waited for until it has nothing left to do. Then it is paused (ram), and a create takes it
 * over: its metadata gets the lease's id, its CPUs go on; or it is saved as the berth's golden state (disk),
 * once, and a create starts from that.
 *
 * A spare has no record in the journal and no lease in its metadata: to a recovery it is a guest of ours that
 * belongs to nobody, and is destroyed.
 */
#ifndef BERTHOS_LEASE_SPARE_H
#define BERTHOS_LEASE_SPARE_H

#include "lease/berth.h"

/*
 * Looks after a berth that holds no lease: prepares a spare where there is to be one, and takes away one that
 * is dead, stale or not wanted. Returns the monotonic time at which it must be looked at again. For the
 * keeper.
 */
int64_t spare_look_after(struct berth *berth);

/*
 * Makes the spare the guest of the berth's record: it runs, and *desktop is usable, *owned*. On failure
 * nothing of it is left and the caller may boot a guest. The berth is this thread's (preparing).
 */
int spare_claim(struct berth *berth, struct berth_desktop *desktop, struct error *err);

/* Takes the spare away, if there is one. The berth is this thread's (preparing). */
int spare_drop(struct berth *berth, struct error *err);

/* The same for a berth of a node that stops, in whatever state it is. */
void spare_dismiss(struct berth *berth);

#endif
