/*
 * The manifest of an image, schema berthos.image/1 (docs/IMAGE.md): the only place where its text is read.
 * Everything in it is bounded; unknown keys are refused, so that two readers never see two meanings.
 */
#ifndef BERTHOS_IMAGE_MANIFEST_H
#define BERTHOS_IMAGE_MANIFEST_H

#include <stddef.h>

#include "base/error.h"
#include "image/image.h"

#define MANIFEST_SCHEMA    "berthos.image/1"
#define MANIFEST_MAX_BYTES (64u * 1024)

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
