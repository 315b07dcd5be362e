/*
 * The disk of one lease: a qcow2 overlay on the verified base, or on a golden state's disk that lies on it;
 * both stay read-only.
 */
#ifndef BERTHOS_IMAGE_OVERLAY_H
#define BERTHOS_IMAGE_OVERLAY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "image/image.h"

/* An overlay starts at some 200 KiB and grows as its guest writes: this much, or the whole disk where that is
 * smaller, must be free before one is made. */
#define OVERLAY_ROOM_GIB 4
uint64_t overlay_room_bytes(int64_t disk_gib);

/* Whom an overlay is given to, so that QEMU opens it without any relabelling; -1 leaves that half as it is.
 */
struct overlay_owner {
    uid_t uid; /* of one guest's QEMU alone: nobody else may open the overlay */
    gid_t gid;
};
#define OVERLAY_OWNER_NONE ((struct overlay_owner){(uid_t)-1, (gid_t)-1})

/*
 * Makes an overlay at `path` (which must not exist) on `golden`, or on the image's disk where that is NULL,
 * with the backing format named explicitly, of `disk_gib` GiB or the base's virtual size, whichever is
 * larger. Mode 0600 where the owner has a uid, else 0660. Errors: ERROR_NO_CAPACITY when the disk is full,
 * else ERROR_INTERNAL; nothing is left over.
 */
int overlay_create(const char *path, const struct image *image, const char *golden, int64_t disk_gib,
                   struct overlay_owner owner, struct error *err);

/* Removes an overlay; one that is gone is fine. */
int overlay_remove(const char *path, struct error *err);

#endif
