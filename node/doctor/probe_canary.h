/* The canary: a paused guest without a disk, whose QEMU is looked at from outside. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_CANARY_H
#define BERTHOS_DOCTOR_PROBE_CANARY_H

#include <sys/types.h>

#include "config/config.h"
#include "doctor/probe.h"
#include "guest/hypervisor.h"
#include "guest/hypervisor_facts.h"
#include "image/image.h"

/* What /proc tells of one process: user, filters, label, mounts, sockets. 0: there is none. */
void probe_process(pid_t pid, struct canary_facts *facts);

/* Starts, looks at and destroys a paused guest without a disk. */
void probe_canary(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                  const struct image *image, const struct hypervisor_facts *found,
                  struct canary_facts *facts);

/* What a recording says of it. */
extern const struct member probe_canary_members[];

#endif
