/*
 * Recovery: what an earlier run of this node left behind, found by our metadata and the journal, is taken up
 * again, finished or undone before anybody is served. Private to lease/.
 *
 *     record      guest of that lease    what happens
 *     live        there                  adopted (adopt.h)
 *     live        gone, or not ours      ended as guest_died; occupancy to the last stamp
 *     creating    any                    destroyed; the record removed: nobody was told of the lease
 *     ending      any                    destroyed; ended with the receipt that the first DELETE fixed
 *     none        ours by its metadata   destroyed
 *
 * Foreign domains and files are never touched, whatever their name.
 */
#ifndef BERTHOS_LEASE_RECOVER_H
#define BERTHOS_LEASE_RECOVER_H

#include "base/error.h"

struct leases;

/* Before the keeper and any caller. -1: something of ours is left, and the node must not start. */
int leases_recover(struct leases *leases, struct error *err);

#endif
