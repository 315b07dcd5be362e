/*
 * The archive of the journal: leases/archive.jsonl, one line for each lease that ended long ago, in the form
 * of its document. Private to lease/.
 */
#ifndef BERTHOS_LEASE_ARCHIVE_H
#define BERTHOS_LEASE_ARCHIVE_H

#include <jansson.h>

#include "lease/journal.h"

/* Adds records; one that is there already is not added again. The file is replaced atomically. */
int archive_add(const struct journal *journal, const struct journal_record *records, size_t count,
                struct error *err);

/* ERROR_NOT_FOUND when it is not there. */
int archive_find(const struct journal *journal, const char *id, struct journal_record *record,
                 struct error *err);

/* Appends all of them to a list made with malloc() (or NULL). */
int archive_list(const struct journal *journal, struct journal_record **records, size_t *count,
                 struct error *err);

/* A record as a document and back; ERROR_INTERNAL or ERROR_BAD_REQUEST for anything else. In journal.c. */
json_t *journal_encode(const struct journal_record *record);
int journal_decode(const json_t *document, struct journal_record *record, struct error *err);

#endif
