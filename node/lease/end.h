/* The end of a lease: its occupancy stops, its guest goes, its receipt is written. */
#ifndef BERTHOS_LEASE_END_H
#define BERTHOS_LEASE_END_H

#include "base/error.h"
#include "lease/journal_record.h"
#include "pairing/pairing.h"
#include "protocol/lease.h"

struct berth;
struct leases;

/*
 * Ends a lease: the guest is destroyed and seen to be gone, the overlay removed, the receipt journalled, then
 * it returns. A lease that has ended gives the same receipt again. ERROR_ENDING when the destroy has not
 * finished: the occupancy has stopped, ask again.
 */
int leases_end(struct leases *leases, const char *id, const struct pairing_grant *grant,
               enum lease_reason reason, struct lease_receipt *receipt, struct error *err);

/* --- for lease/ alone ------------------------------------------------------------------------------ */

/*
 * The same for the lease in a berth that is leased or ending; id: NULL for whichever it is. ERROR_NOT_FOUND
 * where there is none. Called without locks; waits for another thread that is ending it already.
 */
int berth_end(struct berth *berth, const char *id, enum lease_reason reason, struct lease_receipt *receipt,
              struct error *err);

/* The last step of an end: nothing of the guest is there any more, the journal gets the receipt and the audit
 * the event. */
int leases_write_receipt(struct leases *leases, struct journal_record *record, struct lease_receipt *receipt,
                         struct error *err);

#endif
