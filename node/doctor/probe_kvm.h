/* Whether KVM is there for QEMU, and how fast: tried in a child process, not believed. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_KVM_H
#define BERTHOS_DOCTOR_PROBE_KVM_H

#include "doctor/probe.h"

/* user: whom QEMU runs as. Runs up to 0.1 s in a child process; killed after a second. */
void probe_kvm(const struct probe_roots *roots, const struct probe_user *user, struct kvm_facts *facts);

/* What a recording says of it. */
extern const struct member probe_kvm_members[];

#endif
