#include "doctor/warm.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "config/identity.h"
#include "doctor/capacity.h"
#include "doctor/own.h"
#include "doctor/probe.h"

static int64_t mem_of_one_lease_mib(const struct config *config)
{
    int64_t shape_mib = config->mem_gib * 1024;
    return shape_mib > CAPACITY_MIN_MEM_MIB ? shape_mib : CAPACITY_MIN_MEM_MIB;
}

enum config_warm warm_decide(const struct config *config, const struct capacity_facts *capacity,
                             char why[WARM_WHY_SIZE])
{
    if (config->warm != WARM_DEFAULT) {
        snprintf(why, WARM_WHY_SIZE, "warm is %s: node.toml says so", config_warm_word(config->warm));
        return config->warm;
    }
    int64_t ready_mib = config->berths * config->mem_gib * 1024, lease_mib = mem_of_one_lease_mib(config);
    int64_t mem_mib = capacity_free_mem_mib(capacity);
    if (mem_mib >= ready_mib + lease_mib) {
        snprintf(why, WARM_WHY_SIZE,
                 "warm is ram: %" PRId64
                 " MiB of memory are free, enough for a ready guest in each berth (%" PRId64
                 " MiB) and one lease more (%" PRId64 " MiB)",
                 mem_mib, ready_mib, lease_mib);
        return WARM_RAM;
    }
    struct capacity_need need = capacity_need(config, capacity, WARM_DISK);
    bool room = capacity->disk_free_mib >= need.disk_mib + need.states_mib;
    snprintf(why, WARM_WHY_SIZE,
             "warm is %s: %" PRId64
             " MiB of memory are free, too little for a ready guest in each berth (%" PRId64
             " MiB) and one lease more (%" PRId64 " MiB)%s",
             room ? "disk" : "off", mem_mib, ready_mib, lease_mib,
             room ? "" : ", and the disk has no room for saved ones");
    return room ? WARM_DISK : WARM_OFF;
}

enum config_warm doctor_warm(const struct config *config, struct hypervisor *hypervisor,
                             char why[WARM_WHY_SIZE])
{
    enum { LIST_TIMEOUT_MS = 3000 };
    struct capacity_facts facts = {0};
    struct identity identity;
    struct error ignored = ERROR_INIT;
    if (config->warm == WARM_DEFAULT) {
        bool known = identity_load(config->home, &identity, &ignored) == 0;
        CLEANUP_FREE char *overlays = file_join(config->state_dir, "overlays");
        own_facts(hypervisor, config, known ? identity.node_id : NULL, LIST_TIMEOUT_MS, &facts);
        probe_capacity(&probe_roots_host, overlays, &facts);
    }
    return warm_decide(config, &facts, why);
}
