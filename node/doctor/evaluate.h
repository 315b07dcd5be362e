/* The judgement: facts in, report out. Pure, so that every combination can be tried (docs/ELIGIBILITY.md). */
#ifndef BERTHOS_DOCTOR_EVALUATE_H
#define BERTHOS_DOCTOR_EVALUATE_H

#include <stdbool.h>

#include "config/config.h"
#include "doctor/facts.h"
#include "protocol/report.h"

/*
 * Judges every row. `intent` is what is asked for (it may differ from config->intent); with `deep` egress and
 * confinement are judged by the canary in private intent too. Never NULL. *Owned*: report_free().
 */
struct report *evaluate(const struct config *config, enum config_intent intent, bool deep,
                        const struct facts *facts);

#endif
