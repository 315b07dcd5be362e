/* Whether another user, QEMU's, could open a file or enter a folder. */
#ifndef BERTHOS_IMAGE_READABLE_H
#define BERTHOS_IMAGE_READABLE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Whether the user with this uid and these groups could open the file for reading, going by owner and mode of
 * it and of every parent folder. 0, or -1 with ERROR_IMAGE that names the folder or file, the user and the
 * cure.
 */
int image_readable_for(const char *path, uid_t uid, const gid_t *groups, size_t group_count,
                       struct error *err);

/* The same for a folder in which the user is to open files by their names. */
int image_enterable_for(const char *path, uid_t uid, const gid_t *groups, size_t group_count,
                        struct error *err);

#endif
