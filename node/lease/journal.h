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

#include "base/error.h"
#include "lease/journal_record.h"

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

#endif
