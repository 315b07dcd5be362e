/*
 * Inspection by allow-list: every element of a live domain's XML must be one that a lease needs, with its
 * exact count, type and source. What libvirt adds by itself (addresses, aliases, controllers) is listed too;
 * anything else, any other namespace, is not ours and fails.
 */
#ifndef BERTHOS_GUEST_INSPECT_H
#define BERTHOS_GUEST_INSPECT_H

#include "base/error.h"
#include "guest/spec.h"

/* xml: of a domain, live or rendered. 0, or -1 with ERROR_GUEST_FAILED that names the first difference. */
int domain_inspect(const char *xml, const struct guest_spec *spec, struct error *err);

#endif
