/* The inspection of a guest that an earlier run of the node has started. */
#ifndef BERTHOS_GUEST_REINSPECT_H
#define BERTHOS_GUEST_REINSPECT_H

#include <stdint.h>

#include "base/error.h"
#include "guest/handle.h"
#include "guest/spec.h"

/*
 * Inspects a guest that an earlier run of the node has started, as guest_start() does, and notes its run.
 * known: what is known of it by the record alone (name, uuid, node_id, lease_id, kvm, system, vcpu, mem_mib,
 * overlay, console_log); what an image and a hypervisor decided then is taken from the domain itself, the
 * image's files from `image_dir` only, and a golden disk in its chain from `golden_dir` only.
 * ERROR_GUEST_FAILED with the first difference.
 */
int guest_reinspect(struct guest *guest, const struct guest_spec *known, const char *image_dir,
                    const char *golden_dir, int64_t timeout_ms, struct error *err);

#endif
