/* libvirt: whether it answers, what its QEMU can do, and as whom QEMU runs. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_RUNTIME_H
#define BERTHOS_DOCTOR_PROBE_RUNTIME_H

#include "config/config.h"
#include "doctor/probe.h"
#include "guest/hypervisor.h"
#include "guest/hypervisor_facts.h"

/* Who QEMU runs as. Under KVM, and now: as configured and in the first berth. */
struct probe_users {
    struct probe_user kvm, now;
};

/*
 * What libvirt and QEMU can do, and who QEMU runs as, which the label in *found says too. *found is *owned*
 * by the caller (hypervisor_facts_clear()) and zero when libvirt did not answer.
 */
void probe_runtime(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                   struct hypervisor_facts *found, struct probe_users *users, struct facts *facts);

/* What a recording says of it. */
extern const struct member probe_runtime_members[];

#endif
