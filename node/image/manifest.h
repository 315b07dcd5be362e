/*
 * The manifest of an image, schema berthos.image/1 (docs/IMAGE.md): the only place where its text is read.
 * Everything in it is bounded; unknown keys are refused, so that two readers never see two meanings.
 */
#ifndef BERTHOS_IMAGE_MANIFEST_H
#define BERTHOS_IMAGE_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "image/trust.h"

#define MANIFEST_SCHEMA    "berthos.image/1"
#define MANIFEST_MAX_BYTES (64u * 1024)

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

/*
 * Reads a manifest's text into the fields of *image that a manifest gives (paths: `folder` joined with the
 * plain file names; no identity). *image was zeroed by the caller, who frees what it holds also after a
 * failure. 0, or -1 with ERROR_IMAGE that names the field.
 */
int manifest_decode(const char *text, size_t size, const char *folder, struct image *image,
                    struct error *err);

/* Whether labels are exactly those of the contract, byte for byte. 0, or -1 with ERROR_IMAGE naming the first
 * that differs. */
int manifest_check_labels(const json_t *labels, struct error *err);

#endif
