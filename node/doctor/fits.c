#include "doctor/fits.h"

#include <inttypes.h>

#include "base/file.h"
#include "doctor/probe.h"
#include "doctor/verdict.h"
#include "image/overlay.h"

enum { LIBVIRT_TIMEOUT_MS = 10000 };

int doctor_shape_fits(const struct config *config, struct hypervisor *hypervisor,
                      const struct lease_shape *shape, struct error *err)
{
    struct capacity_facts facts = {0};
    CLEANUP_FREE char *overlays = file_join(config->state_dir, "overlays");
    if (hypervisor_vcpu_given(hypervisor, NULL, LIBVIRT_TIMEOUT_MS, &facts.vcpu_given, err) < 0)
        return -1;
    facts.given_known = FACT_YES;
    probe_capacity(&probe_roots_host, overlays, &facts);
    int64_t vcpu = capacity_free_vcpu(config, &facts);
    int64_t room_mib = (int64_t)(overlay_room_bytes(shape->disk_gib) >> 20);
    if (vcpu < shape->vcpu)
        return error_set(err, ERROR_NO_CAPACITY,
                         "this host has %" PRId64 " vCPU free now and %" PRId64
                         " are asked for; ask for fewer or later",
                         vcpu, shape->vcpu);
    if (facts.mem_free_mib < shape->mem_gib * 1024)
        return error_set(err, ERROR_NO_CAPACITY,
                         "this host has %" PRId64 " MiB of memory free now and %" PRId64
                         " are asked for; ask for less or later",
                         facts.mem_free_mib, shape->mem_gib * 1024);
    if (facts.disk_free_mib < room_mib)
        return error_set(err, ERROR_NO_CAPACITY,
                         "this host has %" PRId64 " MiB of disk free for leases now and %" PRId64
                         " are needed",
                         facts.disk_free_mib, room_mib);
    return 0;
}
