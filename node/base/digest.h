/* SHA-256 (FIPS 180-4) of buffers and files, and comparison in constant time. */
#ifndef BERTHOS_BASE_DIGEST_H
#define BERTHOS_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DIGEST_HEX_SIZE 65 /* 64 lower-case hex digits and the terminator */

/* The digest of a buffer. */
void digest_buffer(const void *data, size_t size, char hex[DIGEST_HEX_SIZE]);

/* Called now and then with the bytes done so far. */
typedef void digest_progress(void *context, uint64_t done_bytes);

/*
 * The digest of a file from its start, read through `fd` (borrowed) with pread().
 * name: for the error. progress may be NULL. Returns 0, or -1 with ERROR_INTERNAL.
 */
int digest_file(int fd, const char *name, digest_progress *progress, void *context, char hex[DIGEST_HEX_SIZE],
                struct error *err);

/* Whether two buffers are equal, in a time that depends on `size` alone. */
bool digest_equal(const void *a, const void *b, size_t size);

/* Whether the text is a digest as digest_buffer() writes it. */
bool digest_valid(const char *hex);

#endif
