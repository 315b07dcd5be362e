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

/* ERROR_NOT_FOUND when it is not there. */
int archive_find(const char *folder, const char *id, struct journal_record *record, struct error *err);

/* Appends all of them to a list made with malloc() (or NULL). */
int archive_list(const char *folder, struct journal_record **records, size_t *count, struct error *err);

#endif
