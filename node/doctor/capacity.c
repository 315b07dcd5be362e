#include "doctor/capacity.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "doctor/own_guests.h"
#include "image/golden.h"
#include "image/overlay.h"

/* More than any host has: figures beyond it are not believed, so that no sum runs over. */
enum { CPUS_MAX = 1 << 16, MEM_MAX_MIB = 1 << 30 };

static int64_t take_larger(int64_t a, int64_t b)
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
    return take_larger(0, cpus * factor - capacity->vcpu_given);
}

int64_t capacity_free_mem_mib(const struct capacity_facts *capacity)
{
    int64_t own_mib = capacity->own_mem_mib < MEM_MAX_MIB ? take_larger(0, capacity->own_mem_mib) : 0;
    int64_t free_mib = capacity->mem_free_mib < MEM_MAX_MIB ? capacity->mem_free_mib : 0;
    return free_mib > 0 ? free_mib + own_mib : 0;
}

/* How many of the berths are there beside `taken`; all of them where that is no such number. */
static int64_t count_others(int64_t berths, int64_t taken)
{
    return taken > 0 && taken <= berths ? berths - taken : berths;
}

struct capacity_need capacity_need(const struct config *config, const struct capacity_facts *capacity,
                                   enum config_warm warm)
{
    int64_t berths = take_larger(1, config->berths < CONFIG_BERTHS_MAX ? config->berths : CONFIG_BERTHS_MAX);
    int64_t room_mib = (int64_t)(overlay_room_bytes(take_larger(1, config->disk_gib)) >> 20);
    int64_t states = warm == WARM_DISK ? count_others(berths, capacity->saved_states) : 0;
    return (struct capacity_need){
        .vcpu = take_larger(CAPACITY_MIN_VCPU, berths * config->vcpu),
        .mem_mib = take_larger(CAPACITY_MIN_MEM_MIB, berths * config->mem_gib * 1024),
        /* the overlay of a lease has its room; one is needed even where all are taken, for the next */
        .disk_mib = take_larger(1, count_others(berths, capacity->own_leases)) * room_mib,
        .states = states,
        .states_mib = states * (int64_t)(golden_room_bytes(config->mem_gib * 1024) >> 20),
    };
}

int capacity_fits(const struct config *config, const struct capacity_facts *capacity,
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

static int64_t mem_of_one_lease_mib(const struct config *config)
{
    int64_t shape_mib = config->mem_gib * 1024;
    return shape_mib > CAPACITY_MIN_MEM_MIB ? shape_mib : CAPACITY_MIN_MEM_MIB;
}

enum config_warm capacity_warm(const struct config *config, const struct capacity_facts *capacity,
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
