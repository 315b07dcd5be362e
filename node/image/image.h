/*
 * Guest images: a qcow2, a kernel, an initrd and the manifest that names their digests (docs/IMAGE.md).
 *
 * Bytes are trusted, not names: a file counts as verified when its sha256 is the manifest's, and this is
 * remembered by file identity (device, inode, size, mtime, ctime) in a cache that only this user can write.
 * Opening an image verifies; image_recheck() tells later, in microseconds, whether the files are still the
 * ones that were verified.
 */
#ifndef BERTHOS_IMAGE_IMAGE_H
#define BERTHOS_IMAGE_IMAGE_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "image/manifest.h"

/* How a failed open failed: each has its own sentence and cure. */
enum image_fault {
    IMAGE_FAULT_NONE,
    IMAGE_FAULT_MISSING,    /* no manifest or no file */
    IMAGE_FAULT_STALE,      /* labels or pinned digest are not what this node offers */
    IMAGE_FAULT_TAMPERED,   /* bytes, sizes or the qcow2 header are not the manifest's */
    IMAGE_FAULT_UNREADABLE, /* it is there and cannot be read, by us or by QEMU's user, or others may write it
                             */
};

struct image_options {
    const char *image_dir;     /* absolute */
    const char *name;          /* NAME:VERSION */
    const char *pinned_digest; /* 64 hex digits or NULL */
    const char *cache_path;    /* the verified-once cache, in $BERTHOS_HOME; NULL hashes every time */
    /* Called while files are hashed: bytes done and in all. May be NULL. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_context;
};

/*
 * Reads and verifies an image: manifest schema, labels, pinned digest, size and sha256 of every file, owner
 * and mode (nobody but root or us may write, symbolic links are not followed), and the qcow2 header (no
 * backing file, no data file, no encryption, no unknown incompatible feature, no internal snapshot, the
 * promised virtual size). NULL with ERROR_IMAGE and *fault (may be NULL). *Owned*: image_free().
 */
struct image *image_open(const struct image_options *options, enum image_fault *fault, struct error *err);

/* Whether every file is still the one that was verified. 0, or -1 with ERROR_IMAGE naming the file. */
int image_recheck(const struct image *image, struct error *err);

void image_free(struct image *image);
CLEANUP_DEFINE(image, struct image *, image_free);
#define CLEANUP_IMAGE CLEANUP(cleanup_image)

#endif
