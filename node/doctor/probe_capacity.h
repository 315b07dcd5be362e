/* What is left of this host for one more guest, as the kernel says. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_CAPACITY_H
#define BERTHOS_DOCTOR_PROBE_CAPACITY_H

#include "doctor/probe.h"

/* CPUs, memory, and the room at (the nearest existing parent of) overlay_dir. */
void probe_capacity(const struct probe_roots *roots, const char *overlay_dir, struct capacity_facts *facts);

/* Whether QEMU's user can get into the folder of the overlays, which probe_capacity() has found. */
void probe_capacity_entered(const struct probe_user *user, struct capacity_facts *facts);

/* The CPU times of /proc/stat: idle and in all. Two samples give the idle share. */
struct probe_cpu_sample {
    bool known;
    uint64_t idle, total;
};
struct probe_cpu_sample probe_cpu_sample(const struct probe_roots *roots);

/* What a recording says of it. */
extern const struct member probe_capacity_members[];

#endif
