#include "doctor/capacity.h"

#include "image/golden.h"
#include "image/overlay.h"

/* More than any host has: figures beyond it are not believed, so that no sum runs over. */
enum { CPUS_MAX = 1 << 16, MEM_MAX_MIB = 1 << 30 };

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t capacity_free_vcpu(const struct config *config, const struct capacity_facts *capacity)
{
    if (capacity->given_known != FACT_YES || capacity->cpus <= 0 || capacity->vcpu_given < 0)
        return 0;
    int64_t factor = 1;
    if (config->accel == ACCEL_TCG && config->vcpu_overcommit > 1)
        factor =
            config->vcpu_overcommit < CONFIG_OVERCOMMIT_MAX ? config->vcpu_overcommit : CONFIG_OVERCOMMIT_MAX;
    int64_t cpus = capacity->cpus < CPUS_MAX ? capacity->cpus : CPUS_MAX;
    return largest(0, cpus * factor - capacity->vcpu_given);
}

int64_t capacity_free_mem_mib(const struct capacity_facts *capacity)
{
    int64_t own_mib = capacity->own_mem_mib < MEM_MAX_MIB ? largest(0, capacity->own_mem_mib) : 0;
    int64_t free_mib = capacity->mem_free_mib < MEM_MAX_MIB ? capacity->mem_free_mib : 0;
    return free_mib > 0 ? free_mib + own_mib : 0;
}

/* How many of the berths are there beside `taken`; all of them where that is no such number. */
static int64_t others(int64_t berths, int64_t taken)
{
    return taken > 0 && taken <= berths ? berths - taken : berths;
}

struct capacity_need capacity_need(const struct config *config, const struct capacity_facts *capacity,
                                   enum config_warm warm)
{
    int64_t berths = largest(1, config->berths < CONFIG_BERTHS_MAX ? config->berths : CONFIG_BERTHS_MAX);
    int64_t room_mib = (int64_t)(overlay_room_bytes(largest(1, config->disk_gib)) >> 20);
    int64_t states = warm == WARM_DISK ? others(berths, capacity->saved_states) : 0;
    return (struct capacity_need){
        .vcpu = largest(CAPACITY_MIN_VCPU, berths * config->vcpu),
        .mem_mib = largest(CAPACITY_MIN_MEM_MIB, berths * config->mem_gib * 1024),
        /* the overlay of a lease has its room; one is needed even where all are taken, for the next */
        .disk_mib = largest(1, others(berths, capacity->own_leases)) * room_mib,
        .states = states,
        .states_mib = states * (int64_t)(golden_room_bytes(config->mem_gib * 1024) >> 20),
    };
}
