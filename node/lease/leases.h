/*
 * The leases of a node: its berths, who holds them, and everything that is done through a lease. This is the
 * only place where guest, display and journal meet.
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
#include "base/cleanup.h"
#include "base/error.h"
#include "config/config.h"
#include "display/display.h"
#include "doctor/eligibility.h"
#include "guest/hypervisor.h"
#include "pairing/pairing.h"
#include "protocol/action.h"
#include "protocol/lease.h"
#include "view/view.h"

struct leases; /* opaque */

struct leases_options {
    const struct config *config;
    const char *node_id;
    struct hypervisor *hypervisor;
    struct eligibility *eligibility;
    struct audit *audit;     /* NULL: none is kept */
    struct pairing *pairing; /* whose tokens reach the guest views */
    const char *view_assets; /* folder of their page */
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

/*
 * Creates a lease and returns when its guest is usable: the desktop's agent has spoken and a frame that is
 * not blank is held. Errors in the order of CONTRACT.md section 3: ERROR_INELIGIBLE, ERROR_UNPARKED,
 * ERROR_LEASE_LIVE, ERROR_OS_REFUSED, ERROR_BAD_SHAPE, ERROR_NO_CAPACITY, ERROR_GUEST_FAILED,
 * ERROR_HYPERVISOR; then nothing of the guest remains.
 */
int leases_create(struct leases *leases, const struct lease_request *request,
                  const struct pairing_grant *grant, struct lease_document *lease, struct error *err);

/* A live lease. */
int leases_get(struct leases *leases, const char *id, const struct pairing_grant *grant,
               struct lease_document *lease, struct error *err);

/* The live leases that the grant reaches, at most `max`; returns how many. */
size_t leases_list(struct leases *leases, const struct pairing_grant *grant, struct lease_document *list,
                   size_t max);

/*
 * The leases that the grant reaches, live and ended, the newest first, at most `max`. *list is *owned*:
 * free().
 */
int leases_history(struct leases *leases, const struct pairing_grant *grant, size_t max,
                   struct lease_document **list, size_t *count, struct error *err);

/*
 * Ends a lease: the guest is destroyed and seen to be gone, the overlay removed, the receipt journalled, then
 * it returns. A lease that has ended gives the same receipt again. ERROR_ENDING when the destroy has not
 * finished: the occupancy has stopped, ask again.
 */
int leases_end(struct leases *leases, const char *id, const struct pairing_grant *grant,
               enum lease_reason reason, struct lease_receipt *receipt, struct error *err);

/* The receipt of an ended lease. */
int leases_receipt(struct leases *leases, const char *id, const struct pairing_grant *grant,
                   struct lease_receipt *receipt, struct error *err);

/* A picture of the lease's screen; see display_screenshot(). *Owned*: picture_release(). */
struct picture *leases_screenshot(struct leases *leases, const char *id, const struct pairing_grant *grant,
                                  const struct picture_request *request, struct cancel *cancel,
                                  struct error *err);

/* Performs actions on the lease's guest; see display_act(). *acted is untouched where there is no such lease.
 */
int leases_act(struct leases *leases, const char *id, const struct pairing_grant *grant,
               const struct display_act *act, struct cancel *cancel, struct display_acted *acted,
               struct error *err);

/* A way into the lease's guest view. */
struct leases_ticket {
    uint16_t port;
    char ticket[VIEW_SECRET_SIZE];
};

/* Makes a ticket for the lease's guest view, good once and for VIEW_TICKET_S. */
int leases_view(struct leases *leases, const char *id, const struct pairing_grant *grant, enum view_mode mode,
                struct leases_ticket *ticket, struct error *err);

/* A pairing token was revoked (its grant's id): nobody stays in a guest view by it. */
void leases_revoke(struct leases *leases, const char *grant);

/* How guests are prepared for the next lease. Static: ram, disk, off. */
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
    const char *prepared;         /* static: ram, disk; NULL when no guest is ready for the next lease */
    struct lease_shape prepared_shape;
    int64_t prepared_ms; /* monotonic: since when it has been ready */
};
void leases_status(struct leases *leases, size_t berth, struct berth_status *status);

#endif
