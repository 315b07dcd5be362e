/*
 * The eligibility of a running node: the doctor's report, probed when somebody asks, at most one run at a
 * time, its result shared between callers that can live with its age.
 */
#ifndef BERTHOS_DOCTOR_ELIGIBILITY_H
#define BERTHOS_DOCTOR_ELIGIBILITY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "config/config.h"
#include "doctor/doctor.h"
#include "guest/hypervisor.h"

struct eligibility; /* opaque */

/* Borrows config and hypervisor for its life. Never NULL. *Owned*: eligibility_free(). */
struct eligibility *eligibility_new(const struct config *config, enum config_intent intent,
                                    struct hypervisor *hypervisor);
void eligibility_free(struct eligibility *eligibility);

/* One report. */
struct eligibility_answer {
    bool ok;
    json_t *document; /* the wire report; a reference of the caller's */
    char why[1024];   /* when not ok: the first failing row in words */
};

/* A report that was begun no longer than max_age_ms ago; probes when there is none. Blocks while it probes.
 */
void eligibility_ask(struct eligibility *eligibility, int64_t max_age_ms, struct eligibility_answer *answer);

/* What the last report said, without probing. */
bool eligibility_last(struct eligibility *eligibility);

#endif
