/* berth doctor --simulate CASE: one defect in the facts, judged by the real evaluation (CONTRACT.md section
 * 2). */
#ifndef BERTHOS_DOCTOR_SIMULATE_H
#define BERTHOS_DOCTOR_SIMULATE_H

#include <stdbool.h>

#include "config/config.h"
#include "doctor/facts.h"

/* The names of all cases, ended by NULL. Static. */
const char *const *simulate_cases(void);

/*
 * Puts the defect into the facts, or into the (shallow, borrowed) copy of the configuration. A defect that
 * only matters in public intent or under KVM sets that too, so that no case can be ok. False when the case is
 * unknown, and then nothing is changed.
 */
bool simulate_apply(const char *name, struct config *config, enum config_intent *intent, struct facts *facts);

#endif
