/* One examination, a defect put into it where one is wanted, and the judgement. */
#include "doctor/doctor.h"

#include "doctor/evaluate.h"
#include "doctor/examine.h"
#include "doctor/record.h"
#include "doctor/simulate.h"

/* The intent that will be judged: some cases are of public intent alone, and then want its canary too. */
static int find_intent(const struct doctor_options *options, enum config_intent *intent, struct error *err)
{
    struct config scratch_config = *options->config;
    struct facts scratch = {0};
    *intent = options->intent;
    if (options->simulate && !simulate_apply(options->simulate, &scratch_config, intent, &scratch))
        return error_set(err, ERROR_BAD_REQUEST,
                         "there is no case \"%.64s\" to simulate; known are: " SIMULATE_LIST,
                         options->simulate);
    return 0;
}

struct report *doctor_run(const struct doctor_options *options, struct error *err)
{
    enum config_intent intent;
    if (find_intent(options, &intent, err) < 0)
        return NULL;
    struct examination examination = {0};
    struct error reason = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *own = NULL;
    struct hypervisor *hypervisor = options->hypervisor;
    if (!hypervisor)
        hypervisor = own = hypervisor_new(options->config->libvirt_uri, &reason);
    PROBE_COPY(examination.facts.runtime.error, reason.text);
    bool canary = options->deep || intent != INTENT_PRIVATE;
    examine(&(struct examine_options){.config = options->config,
                                      .hypervisor = hypervisor,
                                      .canary = canary,
                                      .progress = options->progress,
                                      .progress_context = options->progress_context},
            &examination);

    if (options->recording)
        *options->recording = record_encode(options->config, intent, canary, &examination.facts);
    struct config config = *options->config; /* shallow: a simulated case changes fields, never frees them */
    if (options->simulate)
        simulate_apply(options->simulate, &config, &intent, &examination.facts);
    struct report *report = evaluate(&config, intent, options->deep, &examination.facts);
    examination_clear(&examination);
    return report;
}
