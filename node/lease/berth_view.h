/* The guest view of a lease: what it may do with the lease, when it is there, and the ways into it. */
#ifndef BERTHOS_LEASE_BERTH_VIEW_H
#define BERTHOS_LEASE_BERTH_VIEW_H

#include <stdint.h>

#include "base/error.h"
#include "lease/journal_record.h"
#include "pairing/pairing.h"
#include "protocol/lease.h"
#include "view/view.h"

struct berth;
struct leases;

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

/* --- for lease/ alone ------------------------------------------------------------------------------ */

/* Opens the view of the lease that a berth is about to hold, which is in the berth until
 * berth_close_screen(). record: with the id of the berth's own. */
int berth_open_view(struct berth *berth, const struct journal_record *record, int64_t expires_boot_ms,
                    struct error *err);

/*
 * Nobody sees or reaches the berth's guest any more: the viewers are sent away, who waits inside the display
 * is woken, and view and display are closed. Fine where either is not open. Called without locks.
 */
void berth_close_screen(struct berth *berth, enum lease_reason reason);

#endif
