/* berth doctor --simulate CASE: one defect in the facts, judged by the real evaluation (CONTRACT.md section
 * 2). */
#ifndef BERTHOS_DOCTOR_SIMULATE_H
#define BERTHOS_DOCTOR_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"
#include "doctor/facts.h"

/* The cases, with NEXT between two: the name, and the function of simulate.c that makes it. */
/* clang-format off */
#define SIMULATE_CASES(CASE, NEXT) \
    CASE("laptop", be_laptop) NEXT \
    CASE("missing-image", miss_image) NEXT \
    CASE("bind-all", bind_everywhere) NEXT \
    CASE("stale-labels", spoil_labels) NEXT \
    CASE("tampered-image", tamper_image) NEXT \
    CASE("no-kvm", lose_kvm) NEXT \
    CASE("emulated-kvm", emulate_kvm) NEXT \
    CASE("no-libvirt", lose_libvirt) NEXT \
    CASE("low-memory", lower_memory) NEXT \
    CASE("low-cpu", lower_cpu) NEXT \
    CASE("wifi", use_wifi) NEXT \
    CASE("battery", add_battery) NEXT \
    CASE("unconfined", lift_confinement) NEXT \
    CASE("nic", add_nic)
/* clang-format on */

/* "laptop, missing-image, ...", a literal. */
#define SIMULATE_NAME(name, function) name
#define SIMULATE_LIST                 SIMULATE_CASES(SIMULATE_NAME, ", ")

/* The name of a case; NULL beyond the last. Static. */
const char *simulate_case(size_t index);

/*
 * Puts the defect into the facts, or into the (shallow, borrowed) copy of the configuration. A defect that
 * only matters in public intent or under KVM sets that too, so that no case can be ok. False when the case is
 * unknown, and then nothing is changed.
 */
bool simulate_apply(const char *name, struct config *config, enum config_intent *intent, struct facts *facts);

#endif
