/* The disk of one lease: a qcow2 overlay on the verified base, which stays read-only. */
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

/*
 * Makes an overlay at `path` (which must not exist) on the image's disk, with the backing format named
 * explicitly, of `disk_gib` GiB or the base's virtual size, whichever is larger; mode 0660 and group `gid`
 * ((gid_t)-1 leaves it) so that QEMU's user opens it without any relabelling. Errors: ERROR_NO_CAPACITY when
 * the disk is full, else ERROR_INTERNAL; nothing is left over.
 */
int overlay_create(const char *path, const struct image *image, int64_t disk_gib, gid_t gid,
                   struct error *err);

/* Removes an overlay; one that is gone is fine. */
int overlay_remove(const char *path, struct error *err);

#endif
