/* What the control groups of this process leave of the host. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_CGROUP_H
#define BERTHOS_DOCTOR_CGROUP_H

#include "doctor/probe.h"

/* What the control groups of this process leave; INT64_MAX where they set no limit. */
struct cgroup_limits {
    int64_t milli_cpus, mem_free_mib;
};
void cgroup_limits(const struct probe_roots *roots, struct cgroup_limits *limits);

#endif
