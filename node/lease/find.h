/*
 * Leases by their id, for who may reach them: what they are, were, and what they came to. Reads alone. A
 * lease that the grant may not reach is ERROR_NOT_FOUND.
 */
#ifndef BERTHOS_LEASE_FIND_H
#define BERTHOS_LEASE_FIND_H

#include <stddef.h>

#include "base/error.h"
#include "pairing/pairing.h"
#include "protocol/lease.h"

struct berth;
struct leases;

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

/* The receipt of an ended lease. */
int leases_receipt(struct leases *leases, const char *id, const struct pairing_grant *grant,
                   struct lease_receipt *receipt, struct error *err);

/* --- for lease/ alone ------------------------------------------------------------------------------ */

/*
 * The berth whose lease (in the making, live or ending) has this id, with its mutex held; NULL when there is
 * none that the grant reaches. leases_no_such() says so: ERROR_NOT_FOUND, -1.
 */
struct berth *leases_lock(struct leases *leases, const char *id, const struct pairing_grant *grant);
int leases_no_such(struct error *err);

/* The document of the berth's live lease. With berth.mutex held. */
void berth_describe(const struct berth *berth, struct lease_document *lease);

#endif
