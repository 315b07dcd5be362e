/*
 * Making a lease: choosing its berth, a guest, going live; and giving up on the way.
 *
 * The best berth for a shape is, in this order: one with a spare of that shape, one where such a spare is
 * just being prepared, a free one, and one whose spare has another shape and gives way.
 */
#ifndef BERTHOS_LEASE_CREATE_H
#define BERTHOS_LEASE_CREATE_H

#include <stdbool.h>

#include "base/error.h"
#include "pairing/pairing.h"
#include "protocol/lease.h"

struct berth;
struct leases;

/*
 * Creates a lease and returns when its guest is usable: the desktop's agent has spoken and a frame that is
 * not blank is held. Errors in the order of CONTRACT.md section 3: ERROR_INELIGIBLE, ERROR_UNPARKED,
 * ERROR_LEASE_LIVE, ERROR_OS_REFUSED, ERROR_BAD_SHAPE, ERROR_NO_CAPACITY, ERROR_GUEST_FAILED,
 * ERROR_HYPERVISOR; then nothing of the guest remains.
 */
int leases_create(struct leases *leases, const struct lease_request *request,
                  const struct pairing_grant *grant, struct lease_document *lease, struct error *err);

/* --- for lease/ alone ------------------------------------------------------------------------------ */

/*
 * Makes a create that is under way give up, or the preparation of a spare: its guest is taken from under it.
 * id: of the lease that is being made, or NULL for whichever it is. Returns when it has, true when there was
 * one to cancel.
 */
bool berth_cancel_create(struct berth *berth, const char *id);

#endif
