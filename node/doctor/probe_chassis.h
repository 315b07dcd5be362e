/* Whether this host is carried around, or a guest itself. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_CHASSIS_H
#define BERTHOS_DOCTOR_PROBE_CHASSIS_H

#include "doctor/probe.h"

void probe_chassis(const struct probe_roots *roots, struct chassis_facts *facts);

/* What a recording says of it. */
extern const struct member probe_chassis_members[];

#endif
