/*
 * How much room there is: what this host has for leases, what its berths need, whether a lease fits, and how
 * spares are kept. Arithmetic over facts alone; room.h looks at the host. Private to doctor/.
 */
#ifndef BERTHOS_DOCTOR_CAPACITY_H
#define BERTHOS_DOCTOR_CAPACITY_H

#include <stdint.h>

#include "config/config.h"
#include "doctor/facts.h"
#include "protocol/lease.h"

/* Of the node as a whole, however small its leases are (CONTRACT.md section 2). */
#define CAPACITY_MIN_VCPU    2
#define CAPACITY_MIN_MEM_MIB 4096

/* Free vCPUs; an unknown figure is 0. More than one vCPU a CPU is for emulated guests alone. */
int64_t capacity_free_vcpu(const struct config *config, const struct capacity_facts *capacity);

/* Free memory, MiB, with what this node's own guests hold; an unknown figure is 0. */
int64_t capacity_free_mem_mib(const struct capacity_facts *capacity);

/* What a lease of node.toml's shape in every berth needs. */
struct capacity_need {
    int64_t vcpu;
    int64_t mem_mib;
    int64_t disk_mib;   /* for the overlays of the berths that have no lease */
    int64_t states;     /* how many saved states are to be made yet */
    int64_t states_mib; /* and what they take on disk */
};

/* warm: as it was decided, see capacity_warm(). */
struct capacity_need capacity_need(const struct config *config, const struct capacity_facts *capacity,
                                   enum config_warm warm);

struct own_guests; /* own_guests.h */

/* Whether one lease of a shape fits beside the guests that were counted. ERROR_NO_CAPACITY says what is
 * short. */
int capacity_fits(const struct config *config, const struct capacity_facts *capacity,
                  const struct own_guests *own, const struct lease_shape *shape, struct error *err);

#define WARM_WHY_SIZE 256

/*
 * What node.toml says. Where it says nothing: ram, when the memory that is free (with what this node's own
 * guests hold) is enough for a ready guest in every berth and for one lease beside them; else disk, when
 * there is room for the saved states beside the overlays; else off. Pure. why: one sentence for the log,
 * "warm is ram: ...".
 */
enum config_warm capacity_warm(const struct config *config, const struct capacity_facts *capacity,
                               char why[WARM_WHY_SIZE]);

#endif
