/*
 * The journal: HOME/leases/ID.json, one document for each lease, live or ended, replaced atomically. A step
 * is recorded before the act that it may have to undo, so what a crash leaves behind can be told from the
 * record alone.
 */
#ifndef BERTHOS_LEASE_JOURNAL_H
#define BERTHOS_LEASE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
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

struct journal {
    char *folder; /* owned */
};

/* Makes HOME/leases (0700) where it is missing. */
int journal_open(struct journal *journal, const char *home, struct error *err);
void journal_close(struct journal *journal);

/* On disk when it returns 0. */
int journal_write(const struct journal *journal, const struct journal_record *record, struct error *err);

/* Also from the archive. ERROR_NOT_FOUND when there is no such lease; ERROR_INTERNAL when its document cannot
 * be understood. */
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

/*
 * Every lease that there is a record of, the newest first, archived ones too. Documents that cannot be
 * understood are passed over. *records is *owned*: free().
 */
int journal_history(const struct journal *journal, struct journal_record **records, size_t *count,
                    struct error *err);

/* How long an ended lease keeps a document of its own. */
#define JOURNAL_KEEP_DAYS 90

/*
 * Moves leases that ended JOURNAL_KEEP_DAYS before now_ms (realtime) or longer ago into the archive, one file
 * with a line each: receipts are never deleted, but a node that runs for years does not keep a file for each.
 * The archive is on disk before a document goes.
 */
int journal_compact(const struct journal *journal, int64_t now_ms, struct error *err);

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
