/* pairings.json: the SHA-256 of each token, what it may do, when it was made, whether it was ever used. */
#ifndef BERTHOS_PAIRING_PAIRINGS_FILE_H
#define BERTHOS_PAIRING_PAIRINGS_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "pairing/grant.h"

#define PAIRINGS_MAX 4096

/*
 * Reads the file at a path; one that is not there has no entries. *entries is *owned* (free()), also on
 * failure. ERROR_BAD_REQUEST or ERROR_TOO_LARGE when it cannot be understood, ERROR_INTERNAL when it cannot
 * be read. Entries of older versions, which did not say so, count as used.
 */
int pairings_load(const char *path, struct pairing_entry **entries, size_t *count, struct error *err);

/* Replaces the file, 0600, atomically. ERROR_INTERNAL, and then it is as it was. */
int pairings_save(const char *path, const struct pairing_entry *entries, size_t count, struct error *err);

#endif
