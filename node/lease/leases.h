/*
 * The leases of a node: its berths, who holds them, and everything that is done through a lease. lease/ is
 * the only place where guest, display and journal meet.
 *
 * This is its face: it and the headers that it brings (create, end, find, display, view) are all that other
 * parts include.
 *
 * Every function may be called from any thread. A lease that the grant may not reach is ERROR_NOT_FOUND: a
 * token with the operator capability reaches every lease, one with lease alone those that it made.
 */
#ifndef BERTHOS_LEASE_LEASES_H
#define BERTHOS_LEASE_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/audit.h"
#include "base/error.h"
#include "config/config.h"
#include "doctor/eligibility.h"
#include "guest/hypervisor.h"
#include "lease/berth_display.h"
#include "lease/berth_view.h"
#include "lease/create.h"
#include "lease/end.h"
#include "lease/find.h"
#include "pairing/pairing.h"
#include "protocol/lease.h"

struct leases; /* opaque */

struct leases_options {
    const struct config *config;
    const char *node_id;
    struct hypervisor *hypervisor;
    struct eligibility *eligibility;
    struct audit *audit;             /* NULL: none is kept */
    struct pairing *pairing;         /* whose tokens reach the guest views */
    const struct peer_policy *peers; /* who may connect to them */
    const char *view_assets;         /* folder of their page */
};

/*
 * Opens the journal and recovers: live leases of an earlier run whose guests are there go on, others are
 * ended with reason guest_died, half-made ones are forgotten, half-ended ones finished, and what else is left
 * of this node's guests and overlays is removed. The node starts parked. All options are borrowed for the
 * life of the result. NULL with an error. *Owned*: leases_close().
 */
struct leases *leases_open(const struct leases_options *options, struct error *err);

/*
 * Cancels every create that is under way and finishes every end. Live leases are ended (reason operator) with
 * end_leases, and else left standing: their guests are paused and the next leases_open() takes them up again.
 */
void leases_stop(struct leases *leases, bool end_leases);

/* Whether the journal of a home has leases that leases_open() would take up: then a node starts even red. */
bool leases_left(const char *home);

/* After leases_stop(), when no other call is under way. */
void leases_close(struct leases *leases);

/*
 * Whether new leases are accepted. Parking is refused with ERROR_INELIGIBLE while the doctor's report is red,
 * unparking with ERROR_LEASE_LIVE while a lease is live.
 */
bool leases_parked(struct leases *leases);
int leases_park(struct leases *leases, struct error *err);
int leases_unpark(struct leases *leases, struct error *err);

/* How spares are kept. Static: ram, disk, off. */
const char *leases_warm(const struct leases *leases);

/* How many berths there are; fixed for the life of the node. */
size_t leases_berths(const struct leases *leases);

struct berth_status {
    const char *state;  /* static: empty, preparing, ready, leased, ending, failed */
    const char *phase;  /* static: define, boot, desktop, first frame; NULL outside preparing */
    int64_t since_ms;   /* monotonic: when the state began */
    const char *paused; /* static: why the CPUs of a lease's guest stand; NULL while they run */
    char reason[256]; /* of failed, of an ending that does not finish, of a lease whose guest does not answer
                       */
    char lease_id[LEASE_ID_SIZE]; /* of the lease that is made, live or ending, else "" */
    bool live;                    /* it is live */
    const char *spare;            /* static: ram, disk; NULL when no guest waits for the next lease */
    struct lease_shape spare_shape;
    int64_t spare_since_ms; /* monotonic */
};
void leases_status(struct leases *leases, size_t n, struct berth_status *status);

#endif
