/* Whether one lease of a given shape fits on this host now: the last look before a create. */
#ifndef BERTHOS_DOCTOR_FITS_H
#define BERTHOS_DOCTOR_FITS_H

#include <stdint.h>

#include "config/config.h"
#include "guest/hypervisor.h"
#include "protocol/lease.h"

/*
 * Unlike the row `capacity`, which speaks of a free berth, this counts everything that runs, this node's own
 * live leases too. 0, or -1 with ERROR_NO_CAPACITY that says what is short, or ERROR_HYPERVISOR.
 */
int doctor_shape_fits(const struct config *config, struct hypervisor *hypervisor,
                      const struct lease_shape *shape, struct error *err);

#endif
