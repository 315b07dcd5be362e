/*
 * What was verified once: (file identity, sha256) pairs in one small file that only this user can write. A
 * file that others could have written, that is a link or that does not parse is as good as none: it costs a
 * hash, never trust.
 */
#ifndef BERTHOS_IMAGE_CACHE_H
#define BERTHOS_IMAGE_CACHE_H

#include <stdbool.h>

#include "image/trust.h"

/* Whether the file with this identity had this digest. path may be NULL: false. */
bool cache_has(const char *path, const struct image_identity *identity, const char *sha256);

/*
 * Remembers it; the oldest entries fall out. A failure is logged and costs a hash next time. A file that was
 * changed within the last moments is not remembered: a further write in the same clock tick of the file
 * system would leave its identity as it is.
 */
void cache_add(const char *path, const struct image_identity *identity, const char *sha256);

#endif
