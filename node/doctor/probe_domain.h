/* The very domain that a lease would start. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_PROBE_DOMAIN_H
#define BERTHOS_DOCTOR_PROBE_DOMAIN_H

#include "config/config.h"
#include "doctor/probe.h"
#include "guest/hypervisor.h"
#include "guest/hypervisor_facts.h"
#include "image/image.h"

/* Renders the domain of a lease, inspects it, and has libvirt turn it into QEMU's arguments. image may be
 * NULL: the paths are then those that it would have. */
void probe_domain(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                  const struct image *image, const struct hypervisor_facts *found, struct facts *facts);

/* What a recording says of it. */
extern const struct member probe_domain_members[];

#endif
