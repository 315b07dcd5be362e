/*
 * The doctor: probes this host and says whether it may lease, row by row (docs/ELIGIBILITY.md). What it says
 * is measured now; what cannot be measured is never taken for good.
 *
 * Probes (probe_*.c) gather facts (facts.h), evaluate() alone judges them, simulate_apply() puts one defect
 * into them before that.
 */
#ifndef BERTHOS_DOCTOR_DOCTOR_H
#define BERTHOS_DOCTOR_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "guest/hypervisor.h"
#include "protocol/report.h"

struct doctor_options {
    const struct config *config; /* borrowed */
    enum config_intent intent;
    const char *simulate;          /* a case of simulate.h, or NULL */
    bool deep;                     /* start the canary in private intent too; public always does */
    struct hypervisor *hypervisor; /* borrowed; NULL: the doctor opens its own */
    /* Called while image files are hashed, on another thread of the doctor's. May be NULL. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_context;
    json_t **recording; /* where not NULL: set to what was found (record.h), *owned* by the caller. Without
                         * the simulated defect: a recording is of this host */
};

/*
 * Probes and judges. Takes well under two seconds where libvirt is warm and the image is known; each probe
 * has its own bound, the hash of a new image takes as long as its bytes do. Makes $BERTHOS_HOME and the
 * node's key where they are missing. NULL only for an unknown case of simulate: ERROR_BAD_REQUEST.
 * *Owned*: report_free().
 */
struct report *doctor_run(const struct doctor_options *options, struct error *err);

#endif
