/*
 * Which files may be believed: those that nobody but root and this user can change, known again later by
 * their identity. ERROR_IMAGE with what is wrong and the cure, unless another code is named.
 */
#ifndef BERTHOS_IMAGE_TRUST_H
#define BERTHOS_IMAGE_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* What makes a file the same one: any write, rename over it or change of owner or mode moves one of these. */
struct image_identity {
    uint64_t device, inode, size_bytes;
    int64_t mtime_ns, ctime_ns;
};

struct image_identity image_identity_of(const struct stat *info);
bool image_identity_same(const struct image_identity *a, const struct image_identity *b);

/* Whether only root and we can change the file or folder. A sticky folder lets nobody move another's entry.
 */
int trust_check_owner(const struct stat *info, const char *path, struct error *err);

/*
 * Opens a folder (resolved: of realpath()) in which, and in every parent of which, only root and we can
 * exchange a name. A descriptor, *owned*, or -1.
 */
int trust_open_folder(const char *resolved, struct error *err);

/*
 * Reads a file of ours that nobody else can read or write, at most max_bytes of it. *text is *owned* and
 * terminated. ERROR_NOT_FOUND when there is none; a link or a larger file is ERROR_IMAGE too.
 */
int trust_read_private(const char *path, size_t max_bytes, char **text, size_t *size, struct error *err);

#endif
