/*
 * The eligibility of a running node: the doctor's report, probed when somebody asks, at most one run at a
 * time, its result shared between callers that can live with its age. What a lease needs to know is looked at
 * again in milliseconds; what takes longer is kept while what it stands on (ground.h) is the same.
 */
#ifndef BERTHOS_DOCTOR_ELIGIBILITY_H
#define BERTHOS_DOCTOR_ELIGIBILITY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "config/config.h"
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

/*
 * A report that was begun no longer than max_age_ms ago and stands on the ground that is there now (another
 * image, daemon, /dev/kvm or node.toml ends it at once); probes everything when there is none. Blocks while
 * it probes.
 */
void eligibility_ask(struct eligibility *eligibility, int64_t max_age_ms, struct eligibility_answer *answer);

/*
 * For the moment before a lease: the last green report, of whatever age, with what can turn in a moment
 * looked at again. Milliseconds, unless the ground has changed or that report was red: then as
 * eligibility_ask() with the two seconds that callers share. 0 when it is green, or -1 with ERROR_INELIGIBLE.
 */
int eligibility_check(struct eligibility *eligibility, struct error *err);

/* How old a report may be that callers share. */
#define ELIGIBILITY_SHARED_MS 2000

/*
 * For whoever may ask as often as he likes: a report that is at most ELIGIBILITY_OPEN_MS old. What takes
 * long, above all the canary of public intent, is looked at again once in ELIGIBILITY_WHOLE_MS at most.
 */
void eligibility_ask_open(struct eligibility *eligibility, struct eligibility_answer *answer);

#define ELIGIBILITY_OPEN_MS  10000
#define ELIGIBILITY_WHOLE_MS 60000

/* What the last look said, without another. */
bool eligibility_last(struct eligibility *eligibility);

#endif
