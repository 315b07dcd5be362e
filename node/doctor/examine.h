/*
 * Looking at this host: all of it, or only what can turn from one moment to the next. Private to doctor/.
 *
 * A full look takes a tenth of a second and more (KVM is timed, a canary is started); what it found holds
 * while the ground under it (ground.h) stays the same. The short look is for the moment before a lease.
 */
#ifndef BERTHOS_DOCTOR_EXAMINE_H
#define BERTHOS_DOCTOR_EXAMINE_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "doctor/facts.h"
#include "doctor/probe.h"
#include "guest/hypervisor.h"
#include "image/image.h"

struct examination {
    struct facts facts;     /* labels are borrowed from image */
    struct image *image;    /* owned; NULL when it is not good */
    struct probe_user user; /* whom QEMU runs as */
};

struct examine_options {
    const struct config *config;   /* borrowed */
    struct hypervisor *hypervisor; /* borrowed; NULL: libvirt is not asked */
    bool canary;                   /* start one */
    /* Called while image files are hashed, on another thread. May be NULL. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_context;
};

/* Free with examination_clear(). */
void examine(const struct examine_options *options, struct examination *examination);
void examination_clear(struct examination *examination);

/*
 * Looks again at what can turn in a moment, into *facts, a copy of examination's: whether libvirt answers,
 * the vCPUs and memory that guests hold, what the host has left, settings, identity and readability of the
 * image's files, chassis and routes. Waits at most three seconds, for libvirt. False when the image's files
 * are others, so that nothing found before can be kept.
 */
bool examine_moment(const struct config *config, struct hypervisor *hypervisor,
                    const struct examination *examination, struct facts *facts);

/* What a recording says of the node's identity, and of the tunnel. */
extern const struct member examine_identity_members[];
extern const struct member examine_tunnel_members[];

#endif
