#include "doctor/room.h"

#include "base/file.h"
#include "config/identity.h"
#include "doctor/own_guests.h"
#include "doctor/probe_capacity.h"
#include "guest/hypervisor_facts.h"

enum { LIBVIRT_TIMEOUT_MS = 10000 };

void room_look(const struct config *config, struct hypervisor *hypervisor, const char *node_id,
               int64_t timeout_ms, struct capacity_facts *facts)
{
    struct error ignored = ERROR_INIT;
    struct own_guests own;
    CLEANUP_FREE char *overlays = file_join(config->state_dir, "overlays");
    CLEANUP_FREE char *golden = file_join(config->state_dir, "golden");
    if (!hypervisor || !node_id || own_guests(hypervisor, node_id, NULL, timeout_ms, &own, &ignored) < 0)
        own = (struct own_guests){0};
    facts->saved_states = node_id ? own_saved_states(golden, node_id, config->berths) : 0;
    facts->own_mem_mib = own.mem_mib + own.apart_mem_mib;
    facts->own_leases = own.leases;
    facts->spares = own.spares;
    facts->spare_mem_mib = own.spare_mem_mib;
    probe_capacity(&probe_roots_host, overlays, facts);
}

int room_fits(const struct config *config, const char *node_id, const struct guest *apart,
              const struct lease_shape *shape, struct error *err)
{
    struct capacity_facts facts = {0};
    struct own_guests own;
    CLEANUP_FREE char *overlays = file_join(config->state_dir, "overlays");
    if (hypervisor_vcpu_given(apart->hypervisor, NULL, LIBVIRT_TIMEOUT_MS, &facts.vcpu_given, err) < 0 ||
        own_guests(apart->hypervisor, node_id, apart->uuid, LIBVIRT_TIMEOUT_MS, &own, err) < 0)
        return -1;
    facts.given_known = FACT_YES;
    facts.vcpu_given -= own.apart_vcpu < facts.vcpu_given ? own.apart_vcpu : facts.vcpu_given;
    probe_capacity(&probe_roots_host, overlays, &facts);
    return capacity_fits(config, &facts, &own, shape, err);
}

enum config_warm room_warm(const struct config *config, struct hypervisor *hypervisor,
                           char why[WARM_WHY_SIZE])
{
    enum { LIST_TIMEOUT_MS = 3000 };
    struct capacity_facts facts = {0};
    struct identity identity;
    struct error ignored = ERROR_INIT;
    if (config->warm == WARM_DEFAULT) {
        bool known = identity_load(config->home, &identity, &ignored) == 0;
        room_look(config, hypervisor, known ? identity.node_id : NULL, LIST_TIMEOUT_MS, &facts);
    }
    return capacity_warm(config, &facts, why);
}
