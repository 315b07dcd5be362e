/*
 * The archive of the journal: leases/archive.jsonl, one line for each lease that ended long ago, in the form
 * of its document. Private to lease/.
 */
#ifndef BERTHOS_LEASE_ARCHIVE_H
#define BERTHOS_LEASE_ARCHIVE_H

#include <stddef.h>

#include "lease/journal_record.h"

/* Adds records; one that is there already is not added again. The file is replaced atomically. */
int archive_add(const char *folder, const struct journal_record *records, size_t count, struct error *err);

/*
 * Appends the records of this id (NULL: all) to a list made with malloc(), or NULL. A line that cannot be
 * understood is passed over: the others are receipts all the same.
 */
int archive_list(const char *folder, const char *id, struct journal_record **records, size_t *count,
                 struct error *err);

#endif
