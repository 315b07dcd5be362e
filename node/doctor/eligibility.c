/*
 * Theory of operation: a full look leaves a `look` (facts, image, the ground it stands on, the report), which
 * is never changed again and counted by references, so that short looks go by it while another full one runs.
 * The ground is read before and after a full look; when it moved meanwhile the look is answered once and not
 * kept.
 */
#include "doctor/eligibility.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sync.h"
#include "doctor/evaluate.h"
#include "doctor/examine.h"
#include "doctor/ground.h"

/* One full look and what it said. */
struct look {
    int references; /* under the eligibility's mutex */
    int64_t begun_ms;
    struct examination examination;
    struct ground ground;
    bool settled; /* the ground was the same before and after */
    struct eligibility_answer answer;
};

struct eligibility {
    const struct config *config;
    enum config_intent intent;
    struct hypervisor *hypervisor;
    char *run_dir;         /* NULL where not known */
    pthread_mutex_t mutex; /* guards all below; never held over a probe */
    pthread_cond_t done;
    bool running;
    struct look *last; /* NULL before the first */
    bool last_ok;      /* of the last look, full or short */
    bool opening;      /* somebody makes the open report anew */
    int64_t open_ms;   /* when it was begun; 0 before the first */
    struct eligibility_answer open;
    int64_t renewed_ms; /* no report that was begun before is shared: a short look has seen it to be wrong */
};

struct eligibility *eligibility_new(const struct config *config, enum config_intent intent,
                                    struct hypervisor *hypervisor)
{
    struct eligibility *eligibility = memory_new(sizeof *eligibility);
    eligibility->config = config;
    eligibility->intent = intent;
    eligibility->hypervisor = hypervisor;
    eligibility->run_dir = ground_run_dir(config);
    pthread_mutex_init(&eligibility->mutex, NULL);
    sync_cond_init(&eligibility->done);
    return eligibility;
}

static void look_free(struct look *look)
{
    json_decref(look->answer.document);
    examination_clear(&look->examination);
    free(look);
}

/* With the mutex held. */
static void look_release(struct look *look)
{
    if (look && --look->references == 0)
        look_free(look);
}

void eligibility_free(struct eligibility *eligibility)
{
    look_release(eligibility->last);
    json_decref(eligibility->open.document);
    pthread_cond_destroy(&eligibility->done);
    pthread_mutex_destroy(&eligibility->mutex);
    free(eligibility->run_dir);
    free(eligibility);
}

static void read_ground(const struct eligibility *eligibility, struct ground *ground)
{
    ground_read(&probe_roots_host, eligibility->run_dir, eligibility->config, ground);
}

static void judge_facts(const struct eligibility *eligibility, const struct facts *facts,
                        struct eligibility_answer *answer)
{
    CLEANUP_REPORT struct report *report = evaluate(eligibility->config, eligibility->intent, false, facts);
    *answer = (struct eligibility_answer){.ok = report->ok, .document = report_encode(report)};
    for (unsigned row = 0; row < ROW_COUNT && !report->ok; row++) {
        if (report->checks[row].status == STATUS_FAIL) {
            snprintf(answer->why, sizeof answer->why, "%s: %s", report_row_word(row),
                     report->checks[row].detail);
            break;
        }
    }
}

/* A full look. *Owned*, with one reference. */
static struct look *look_at_all(const struct eligibility *eligibility)
{
    enum { PING_TIMEOUT_MS = 3000 };
    struct look *look = memory_new(sizeof *look);
    struct error ignored = ERROR_INIT;
    struct ground after;
    struct examine_options options = {.config = eligibility->config,
                                      .hypervisor = eligibility->hypervisor,
                                      .canary = eligibility->intent != INTENT_PRIVATE};
    look->references = 1;
    look->begun_ms = clock_monotonic_ms();
    HYPERVISOR_HOLD_SCOPE(eligibility->hypervisor);
    /* a daemon that systemd starts on demand is to be there before its pid file is looked at */
    hypervisor_ping(eligibility->hypervisor, PING_TIMEOUT_MS, &ignored);
    read_ground(eligibility, &look->ground);
    examine(&options, &look->examination);
    read_ground(eligibility, &after);
    look->settled = ground_same(&look->ground, &after);
    judge_facts(eligibility, &look->examination.facts, &look->answer);
    return look;
}

/* With the mutex held: whether the last report may be given to somebody who asked at `asked_ms`. */
static bool is_shareable(const struct eligibility *eligibility, const struct ground *ground, int64_t asked_ms,
                         int64_t max_age_ms)
{
    const struct look *last = eligibility->last;
    if (!last)
        return false;
    if (last->begun_ms >= asked_ms) /* probed for this caller, or while it waited */
        return true;
    return last->settled && last->begun_ms >= eligibility->renewed_ms &&
           last->begun_ms >= asked_ms - max_age_ms && ground_same(&last->ground, ground);
}

void eligibility_ask(struct eligibility *eligibility, int64_t max_age_ms, struct eligibility_answer *answer)
{
    struct ground ground;
    int64_t asked_ms = clock_monotonic_ms();
    read_ground(eligibility, &ground);
    LOCK_SCOPE(&eligibility->mutex);
    while (!is_shareable(eligibility, &ground, asked_ms, max_age_ms)) {
        if (eligibility->running) {
            sync_cond_wait(&eligibility->done, &eligibility->mutex, CLOCK_NEVER);
            continue;
        }
        eligibility->running = true;
        pthread_mutex_unlock(&eligibility->mutex);
        struct look *look = look_at_all(eligibility);
        pthread_mutex_lock(&eligibility->mutex);
        look_release(eligibility->last);
        eligibility->last = look;
        eligibility->last_ok = look->answer.ok;
        eligibility->running = false;
        pthread_cond_broadcast(&eligibility->done);
    }
    *answer = eligibility->last->answer;
    json_incref(answer->document);
}

/* Which full look a short one may go by. */
enum base { BASE_GREEN, BASE_YOUNG /* ELIGIBILITY_WHOLE_MS at most, of any colour */ };

/* Such a look, with a reference for the caller; NULL when there is none. */
static struct look *take_base(struct eligibility *eligibility, enum base base)
{
    LOCK_SCOPE(&eligibility->mutex);
    struct look *last = eligibility->last;
    if (!last || !last->settled ||
        !(base == BASE_GREEN ? last->answer.ok
                             : last->begun_ms >= clock_monotonic_ms() - ELIGIBILITY_WHOLE_MS))
        return NULL;
    last->references++;
    return last;
}

/* False when the look cannot be gone by any more. */
static bool look_again(const struct eligibility *eligibility, const struct look *look,
                       struct eligibility_answer *answer)
{
    struct facts facts = look->examination.facts;
    struct ground ground;
    HYPERVISOR_HOLD_SCOPE(eligibility->hypervisor);
    if (!examine_moment(eligibility->config, eligibility->hypervisor, &look->examination, &facts))
        return false;
    read_ground(eligibility, &ground); /* after the call to libvirt, which may have started another daemon */
    /* a libvirt that is gone needs no longer look: what is known is enough to refuse */
    if (facts.runtime.answers == FACT_YES && !ground_same(&look->ground, &ground))
        return false;
    judge_facts(eligibility, &facts, answer);
    return true;
}

/* A short look by such a full one. False when there is none that can be gone by. */
static bool look_shortly(struct eligibility *eligibility, enum base base, struct eligibility_answer *answer)
{
    struct look *look = take_base(eligibility, base);
    bool answered = look && look_again(eligibility, look, answer);
    LOCK_SCOPE(&eligibility->mutex);
    look_release(look);
    return answered;
}

void eligibility_ask_open(struct eligibility *eligibility, struct eligibility_answer *answer)
{
    LOCK_SCOPE(&eligibility->mutex);
    while (eligibility->opening)
        sync_cond_wait(&eligibility->done, &eligibility->mutex, CLOCK_NEVER);
    int64_t now_ms = clock_monotonic_ms();
    if (!eligibility->open_ms || eligibility->open_ms < now_ms - ELIGIBILITY_OPEN_MS) {
        struct eligibility_answer fresh;
        eligibility->opening = true;
        pthread_mutex_unlock(&eligibility->mutex);
        if (!look_shortly(eligibility, BASE_YOUNG, &fresh))
            eligibility_ask(eligibility, ELIGIBILITY_SHARED_MS, &fresh);
        pthread_mutex_lock(&eligibility->mutex);
        json_decref(eligibility->open.document);
        eligibility->open = fresh;
        eligibility->open_ms = now_ms;
        eligibility->opening = false;
        pthread_cond_broadcast(&eligibility->done);
    }
    *answer = eligibility->open;
    json_incref(answer->document);
}

int eligibility_check(struct eligibility *eligibility, struct error *err)
{
    struct eligibility_answer answer;
    if (look_shortly(eligibility, BASE_GREEN, &answer)) {
        LOCK_SCOPE(&eligibility->mutex);
        eligibility->last_ok = answer.ok;
        if (!answer.ok)
            eligibility->renewed_ms = clock_monotonic_ms();
    } else {
        eligibility_ask(eligibility, ELIGIBILITY_SHARED_MS, &answer);
    }
    json_decref(answer.document);
    return answer.ok ? 0 : error_set(err, ERROR_INELIGIBLE, "this node is not eligible now (%s)", answer.why);
}

bool eligibility_last(struct eligibility *eligibility)
{
    LOCK_SCOPE(&eligibility->mutex);
    return eligibility->last_ok;
}
