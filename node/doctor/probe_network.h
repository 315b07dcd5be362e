/* Whether the way out goes over radio, and whether this host could fall asleep. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_NETWORK_H
#define BERTHOS_DOCTOR_PROBE_NETWORK_H

#include "doctor/probe.h"

void probe_network(const struct probe_roots *roots, struct network_facts *facts);

/* What a recording says of it. */
extern const struct member probe_network_members[];

#endif
