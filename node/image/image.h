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

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"
#include "image/trust.h"

enum image_file { IMAGE_DISK, IMAGE_KERNEL, IMAGE_INITRD, IMAGE_FILE_COUNT };

struct image_part {
    char *path;                     /* absolute. Owned */
    char sha256[DIGEST_HEX_SIZE];   /* as the manifest says */
    uint64_t size_bytes;            /* as the manifest says */
    struct image_identity identity; /* of the file that was verified */
};

/* An image that is read and, after image_open(), verified. */
struct image {
    char *name;     /* "berthos-linux-desktop:v1". Owned */
    json_t *labels; /* string to string. Owned */
    char *manifest_path;
    char manifest_sha256[DIGEST_HEX_SIZE]; /* what image_digest pins */
    struct image_identity manifest_identity;
    struct image_part parts[IMAGE_FILE_COUNT];
    uint64_t virtual_size_bytes;
    char *cmdline;                          /* the kernel's */
    uint32_t display_width, display_height; /* pixels */
    char *created;                          /* RFC 3339 */
    bool test_only;                         /* made for tests; public intent refuses it */
    bool input_helper;                      /* the guest has the helper (guest/helper.h) */
    json_t *manifest;                       /* the whole document, for `image inspect`. Owned */
};

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

/*
 * Whether the user with this uid and these groups could open the file for reading, going by owner and mode of
 * it and of every parent folder. 0, or -1 with ERROR_IMAGE that names the folder or file, the user and the
 * cure.
 */
int image_readable_for(const char *path, uid_t uid, const gid_t *groups, size_t group_count,
                       struct error *err);

#endif
