/*
 * How much room there is on this host now: for one lease, before it is created, and for spares. The looks;
 * what follows from them is in capacity.h.
 */
#ifndef BERTHOS_DOCTOR_ROOM_H
#define BERTHOS_DOCTOR_ROOM_H

#include <stdint.h>

#include "config/config.h"
#include "doctor/capacity.h"
#include "guest/handle.h"
#include "protocol/lease.h"

/*
 * Fills in what this node's guests hold, and what the host has left, in one moment: between two looks a guest
 * may grow, or go. Guests that cannot be seen within the time count as somebody else's. hypervisor and
 * node_id may be NULL. Private to doctor/.
 */
void room_look(const struct config *config, struct hypervisor *hypervisor, const char *node_id,
               int64_t timeout_ms, struct capacity_facts *facts);

/*
 * Unlike the row `capacity`, which speaks of free berths, this counts everything that runs: this node's own
 * guests too, leased or ready for a lease, and of these the whole memory that they were promised, since a
 * guest that holds a quarter of it now may take the rest at any time. `apart`: the berth's own guest, which
 * is used for the lease or goes for it: what it holds is free. 0, or -1 with ERROR_NO_CAPACITY that says what
 * is short, or ERROR_HYPERVISOR.
 */
int room_fits(const struct config *config, const char *node_id, const struct guest *apart,
              const struct lease_shape *shape, struct error *err);

/*
 * How spares are kept (capacity_warm()), by what this host has now. Asks libvirt for this node's guests where
 * it must, and waits for that three seconds at most; guests that it does not name count as somebody else's.
 * Never WARM_DEFAULT.
 */
enum config_warm room_warm(const struct config *config, struct hypervisor *hypervisor,
                           char why[WARM_WHY_SIZE]);

#endif
