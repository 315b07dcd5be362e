#include "doctor/eligibility.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sync.h"

struct eligibility {
    const struct config *config;
    enum config_intent intent;
    struct hypervisor *hypervisor;
    pthread_mutex_t mutex; /* guards all below; never held over a probe */
    pthread_cond_t done;
    bool running;
    int64_t begun_ms; /* monotonic: when the run that gave `last` began; only with last.document */
    struct eligibility_answer last;
};

struct eligibility *eligibility_new(const struct config *config, enum config_intent intent,
                                    struct hypervisor *hypervisor)
{
    struct eligibility *eligibility = calloc(1, sizeof *eligibility);
    if (!eligibility)
        abort();
    eligibility->config = config;
    eligibility->intent = intent;
    eligibility->hypervisor = hypervisor;
    pthread_mutex_init(&eligibility->mutex, NULL);
    sync_cond_init(&eligibility->done);
    return eligibility;
}

void eligibility_free(struct eligibility *eligibility)
{
    json_decref(eligibility->last.document);
    pthread_cond_destroy(&eligibility->done);
    pthread_mutex_destroy(&eligibility->mutex);
    free(eligibility);
}

static void probe(struct eligibility *eligibility, struct eligibility_answer *answer)
{
    struct error err = ERROR_INIT;
    struct doctor_options options = {
        .config = eligibility->config,
        .intent = eligibility->intent,
        .hypervisor = eligibility->hypervisor,
    };
    CLEANUP_REPORT struct report *report = doctor_run(&options, &err);
    if (!report) {
        *answer = (struct eligibility_answer){.document = json_null()};
        snprintf(answer->why, sizeof answer->why, "%s", err.text);
        return;
    }
    *answer = (struct eligibility_answer){.ok = report->ok, .document = report_encode(report)};
    for (unsigned row = 0; row < ROW_COUNT && !report->ok; row++) {
        if (report->checks[row].status == STATUS_FAIL) {
            snprintf(answer->why, sizeof answer->why, "%s: %s", report_row_word(row),
                     report->checks[row].detail);
            break;
        }
    }
}

/* With the mutex held: whether the last report is young enough. */
static bool fresh(const struct eligibility *eligibility, int64_t oldest_ms)
{
    return eligibility->last.document && eligibility->begun_ms >= oldest_ms;
}

void eligibility_ask(struct eligibility *eligibility, int64_t max_age_ms, struct eligibility_answer *answer)
{
    int64_t oldest_ms = clock_monotonic_ms() - max_age_ms;
    LOCK_SCOPE(&eligibility->mutex);
    while (!fresh(eligibility, oldest_ms)) {
        if (eligibility->running) {
            sync_cond_wait(&eligibility->done, &eligibility->mutex, CLOCK_NEVER);
            continue;
        }
        struct eligibility_answer found;
        int64_t begun_ms = clock_monotonic_ms();
        eligibility->running = true;
        pthread_mutex_unlock(&eligibility->mutex);
        probe(eligibility, &found);
        pthread_mutex_lock(&eligibility->mutex);
        json_decref(eligibility->last.document);
        eligibility->last = found;
        eligibility->begun_ms = begun_ms;
        eligibility->running = false;
        pthread_cond_broadcast(&eligibility->done);
    }
    *answer = eligibility->last;
    json_incref(answer->document);
}

bool eligibility_last(struct eligibility *eligibility)
{
    LOCK_SCOPE(&eligibility->mutex);
    return eligibility->last.ok;
}
