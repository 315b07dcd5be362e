#include "doctor/fits.h"

#include <inttypes.h>

#include "base/file.h"
#include "base/text.h"
#include "doctor/capacity.h"
#include "doctor/own.h"
#include "doctor/probe.h"
#include "guest/hypervisor_facts.h"
#include "image/overlay.h"

enum { LIBVIRT_TIMEOUT_MS = 10000 };

int fits_judge(const struct config *config, const struct capacity_facts *capacity,
               const struct own_guests *own, const struct lease_shape *shape, struct error *err)
{
    int64_t vcpu = capacity_free_vcpu(config, capacity);
    int64_t mem_mib = capacity->mem_free_mib + own->apart_mem_mib - own->owed_mib;
    int64_t room_mib = (int64_t)(overlay_room_bytes(shape->disk_gib) >> 20);
    if (vcpu < shape->vcpu)
        return error_set(err, ERROR_NO_CAPACITY,
                         "this host has %" PRId64 " vCPU free now and %" PRId64
                         " are asked for; ask for fewer or later",
                         vcpu, shape->vcpu);
    if (mem_mib < shape->mem_gib * 1024) {
        CLEANUP_FREE char *owed =
            own->owed_mib > 0
                ? text_format(" beside the %" PRId64 " MiB that its other guests may yet take", own->owed_mib)
                : text_copy("");
        return error_set(err, ERROR_NO_CAPACITY,
                         "this host has %" PRId64 " MiB of memory free now%s and %" PRId64
                         " are asked for; ask for less or later",
                         mem_mib > 0 ? mem_mib : 0, owed, shape->mem_gib * 1024);
    }
    if (capacity->disk_free_mib < room_mib)
        return error_set(err, ERROR_NO_CAPACITY,
                         "this host has %" PRId64 " MiB of disk free for leases now and %" PRId64
                         " are needed",
                         capacity->disk_free_mib, room_mib);
    return 0;
}

int doctor_shape_fits(const struct config *config, struct hypervisor *hypervisor, const char *node_id,
                      const char *uuid, const struct lease_shape *shape, struct error *err)
{
    struct capacity_facts facts = {0};
    struct own_guests own;
    CLEANUP_FREE char *overlays = file_join(config->state_dir, "overlays");
    if (hypervisor_vcpu_given(hypervisor, NULL, LIBVIRT_TIMEOUT_MS, &facts.vcpu_given, err) < 0 ||
        own_guests(hypervisor, node_id, uuid, LIBVIRT_TIMEOUT_MS, &own, err) < 0)
        return -1;
    facts.given_known = FACT_YES;
    facts.vcpu_given -= own.apart_vcpu < facts.vcpu_given ? own.apart_vcpu : facts.vcpu_given;
    probe_capacity(&probe_roots_host, overlays, &facts);
    return fits_judge(config, &facts, &own, shape, err);
}
