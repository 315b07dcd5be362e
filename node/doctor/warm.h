/* How guests are prepared for the next lease, where node.toml leaves that to the host. */
#ifndef BERTHOS_DOCTOR_WARM_H
#define BERTHOS_DOCTOR_WARM_H

#include <stddef.h>

#include "config/config.h"
#include "doctor/facts.h"
#include "guest/hypervisor.h"

#define WARM_WHY_SIZE 256

/*
 * What node.toml says. Where it says nothing: ram, when the memory that is free (with what this node's own
 * guests hold) is enough for a ready guest in every berth and for one lease beside them; else disk, when
 * there is room for the saved states beside the overlays; else off. Pure. why: one sentence for the log,
 * "warm is ram: ...".
 */
enum config_warm warm_decide(const struct config *config, const struct capacity_facts *capacity,
                             char why[WARM_WHY_SIZE]);

/*
 * The same over what this host has now. Asks libvirt for this node's guests where it must, and waits for that
 * three seconds at most; guests that it does not name count as somebody else's. Never WARM_DEFAULT.
 */
enum config_warm doctor_warm(const struct config *config, struct hypervisor *hypervisor,
                             char why[WARM_WHY_SIZE]);

#endif
