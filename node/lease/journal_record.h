/*
 * One lease as the journal keeps it, and as a document (schema berthos.lease/1), which names every member.
 */
#ifndef BERTHOS_LEASE_JOURNAL_RECORD_H
#define BERTHOS_LEASE_JOURNAL_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "guest/spec.h"
#include "protocol/lease.h"

/*
 * creating: a guest may be there, nobody was told of a lease.    live: the tenant has it.
 * ending: occupancy has stopped, the guest may still be there.   ended: the receipt is final.
 */
enum journal_state { JOURNAL_CREATING, JOURNAL_LIVE, JOURNAL_ENDING, JOURNAL_ENDED, JOURNAL_STATE_COUNT };

struct journal_record {
    char id[LEASE_ID_SIZE];
    enum journal_state state;
    char owner[DIGEST_HEX_SIZE]; /* pairing_grant.id of the token that made it */
    int berth;
    char uuid[GUEST_UUID_SIZE]; /* of the domain */
    struct lease_shape shape;
    int64_t started_ms, expires_ms, ended_ms; /* realtime; 0: not (yet), never */
    int64_t occupied_ms;                      /* occupancy up to stamp */
    int64_t down_ms;                          /* how long the node did not serve it, between its runs */
    int64_t stamp_ms;                         /* boottime of the last stamp while live */
    int64_t stamped_ms;               /* realtime of the same, for when the host was restarted since */
    char boot_id[CLOCK_BOOT_ID_SIZE]; /* of the host's run that the stamp is of; "" before there is one */
    bool helper;                      /* its guest has the input helper */
    bool paused;                      /* live, and the node has paused its guest to stop */
    enum lease_reason reason;         /* with ending and ended */
};

/* The document. A new reference. */
json_t *journal_encode(const struct journal_record *record);

/*
 * Reads a document, also of an earlier version, which did not write all members: what it lacks is zero. -1
 * with ERROR_BAD_REQUEST for anything else.
 */
int journal_decode(const json_t *document, struct journal_record *record, struct error *err);

/* Appends a copy to a list made with malloc(), or NULL. */
void journal_append(struct journal_record **list, size_t *count, const struct journal_record *record);

/* Notes in the record that it is true now. */
void journal_stamp(struct journal_record *record);

/*
 * The time (UTC) that the record's occupancy and time down reach to, counted from its start by the clock that
 * nobody sets: a lease's times agree with each other also when the host's clock is set while it is live.
 */
int64_t journal_reached_ms(const struct journal_record *record);

/* The receipt of an ended or ending record. */
void journal_receipt(const struct journal_record *record, struct lease_receipt *receipt);

#endif
