/* What every way of bringing a domain to run shares, however it began. Private to guest/. */
#ifndef BERTHOS_GUEST_STARTED_H
#define BERTHOS_GUEST_STARTED_H

#include <libvirt/libvirt.h>

#include "base/error.h"
#include "guest/hypervisor.h"
#include "guest/spec.h"

/*
 * On the worker of the call with this state: reads the XML of a domain that has just begun to run into
 * *live_xml (*owned*) and which run it is into *run. The domain is destroyed when the caller has given up,
 * for nobody else would ever end it, and when its XML cannot be had. -1 with ERROR_HYPERVISOR.
 */
int started_read(virDomainPtr domain, const void *state, char **live_xml, int *run, struct error *err);

/* Inspects a guest that runs. When it is not what spec asks for it is destroyed: -1 with ERROR_GUEST_FAILED.
 */
int started_inspect(const struct guest *guest, const struct guest_spec *spec, const char *live_xml,
                    int64_t timeout_ms, struct error *err);

#endif
