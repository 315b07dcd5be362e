/* Whether one lease of a given shape fits on this host now: the last look before a create. */
#ifndef BERTHOS_DOCTOR_FITS_H
#define BERTHOS_DOCTOR_FITS_H

#include <stdint.h>

#include "config/config.h"
#include "doctor/facts.h"
#include "guest/hypervisor.h"
#include "protocol/lease.h"

struct own_guests; /* own.h, private to doctor/ */

/* The judgement of it alone, over what was counted. Pure. */
int fits_judge(const struct config *config, const struct capacity_facts *capacity,
               const struct own_guests *own, const struct lease_shape *shape, struct error *err);

/*
 * Unlike the row `capacity`, which speaks of free berths, this counts everything that runs: this node's own
 * guests too, leased or ready for a lease, and of these the whole memory that they were promised, since a
 * guest that holds a quarter of it now may take the rest at any time. `uuid`: of the berth's own guest, which
 * is used for the lease or goes for it: what it holds is free. 0, or -1 with ERROR_NO_CAPACITY that says what
 * is short, or ERROR_HYPERVISOR.
 */
int doctor_shape_fits(const struct config *config, struct hypervisor *hypervisor, const char *node_id,
                      const char *uuid, const struct lease_shape *shape, struct error *err);

#endif
