/*
 * A lease that outlives the node's process: left standing when the node stops, taken up again by the next
 * one. Private to lease/.
 *
 * The guest of a clean stop is paused, that of a crash has gone on by itself. Neither time is occupancy: it
 * stops at the journal's last stamp and goes on at the adoption. What the lease was promised does not move:
 * its id, its tokens, its disk and memory, and the time at which it expires.
 */
#ifndef BERTHOS_LEASE_ADOPT_H
#define BERTHOS_LEASE_ADOPT_H

#include "lease/berth.h"

/*
 * Takes up the live lease of an earlier run, whose guest is there, in an empty berth that nobody else knows
 * of yet. On failure nothing of the guest was changed but that it may run.
 */
int berth_adopt(struct berth *berth, const struct journal_record *left, struct error *err);

/* For a clean stop: pauses the guest of a live lease, journals that, and leaves it to the next start. */
void berth_leave_standing(struct berth *berth);

#endif
