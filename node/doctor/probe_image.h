/* The guest image: whether it is good, and whether QEMU can read it. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_IMAGE_H
#define BERTHOS_DOCTOR_PROBE_IMAGE_H

#include "config/config.h"
#include "doctor/probe.h"
#include "image/image.h"

/* Opens and verifies the image; progress() is called while files are hashed, and may be NULL. The result is
 * *owned*, NULL when it is not good. */
struct image *probe_image(const struct config *config,
                          void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes),
                          void *progress_context, struct image_facts *facts);

/* Whether QEMU's user can read every file of it. */
void probe_image_readable(const struct image *image, const struct probe_user *user,
                          struct image_facts *facts);

/* What a recording says of it. */
extern const struct member probe_image_members[];

#endif
