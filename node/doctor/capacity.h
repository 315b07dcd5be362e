/* What this host has for leases, and what its berths need: arithmetic over facts. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_CAPACITY_H
#define BERTHOS_DOCTOR_CAPACITY_H

#include <stdint.h>

#include "config/config.h"
#include "doctor/facts.h"

/* Of the node as a whole, however small its leases are (CONTRACT.md section 2). */
#define CAPACITY_MIN_VCPU    2
#define CAPACITY_MIN_MEM_MIB 4096

/* What a saved state takes on disk beside the guest's memory: the devices' state and what its disk has grown
 * by. */
#define CAPACITY_STATE_EXTRA_MIB 1024

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

/* warm: as it was decided, see warm.h. */
struct capacity_need capacity_need(const struct config *config, const struct capacity_facts *capacity,
                                   enum config_warm warm);

#endif
