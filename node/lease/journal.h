/*
 * The journal: HOME/leases/ID.json, one document for each lease, live or ended, replaced atomically. A step
 * is recorded before the act that it may have to undo, so what a crash leaves behind can be told from the
 * record alone.
 */
#ifndef BERTHOS_LEASE_JOURNAL_H
#define BERTHOS_LEASE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
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
    int64_t stamp_ms;                         /* boottime of the last stamp while live */
    enum lease_reason reason;                 /* with ending and ended */
};

struct journal {
    char *folder; /* owned */
};

/* Makes HOME/leases (0700) where it is missing. */
int journal_open(struct journal *journal, const char *home, struct error *err);
void journal_close(struct journal *journal);

/* On disk when it returns 0. */
int journal_write(const struct journal *journal, const struct journal_record *record, struct error *err);

/* ERROR_NOT_FOUND when there is no such lease; ERROR_INTERNAL when its document cannot be understood. */
int journal_read(const struct journal *journal, const char *id, struct journal_record *record,
                 struct error *err);

/* Forgets a lease that nobody was told of. */
int journal_remove(const struct journal *journal, const char *id, struct error *err);

/*
 * The records that are not ended. A document that cannot be understood is set aside as NAME.broken with a
 * message. *records is *owned*: free().
 */
int journal_unfinished(const struct journal *journal, struct journal_record **records, size_t *count,
                       struct error *err);

/* The receipt of an ended or ending record. */
void journal_receipt(const struct journal_record *record, struct lease_receipt *receipt);

#endif
