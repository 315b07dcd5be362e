#include "lease/leases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sync.h"
#include "base/text.h"
#include "doctor/room.h"
#include "guest/spec.h"
#include "lease/adopt.h"
#include "lease/berth.h"
#include "lease/jobs.h"
#include "lease/keeper.h"
#include "lease/recover.h"
#include "lease/spare.h"

/* --- opening and closing --------------------------------------------------------------------------- */

/* The berth of a domain, or NULL. */
static struct berth *find_by_uuid(struct leases *leases, const char *uuid)
{
    for (size_t i = 0; i < leases->count; i++)
        if (strcmp(leases->berths[i].guest.uuid, uuid) == 0)
            return &leases->berths[i];
    return NULL;
}

static void on_guest_gone(void *context, const char *uuid)
{
    if (find_by_uuid(context, uuid))
        jobs_wake_keeper(context);
}

static void on_guest_paused(void *context, const char *uuid, int run, const char *why)
{
    struct berth *berth = find_by_uuid(context, uuid);
    if (!berth)
        return;
    int now = berth_guest_now(berth).run;
    if (now == GUEST_ANY_RUN || now == run)
        berth_set_paused(berth, why);
}

/* As many as are offered, and more while leases of a time with more of them go on. */
static size_t count_berths(struct leases *leases)
{
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t found = 0, count = leases->offered;
    if (journal_unfinished(&leases->journal, &records, &found, &ignored) < 0)
        return count; /* the recovery will say why */
    for (size_t i = 0; i < found; i++)
        if (records[i].state == JOURNAL_LIVE && records[i].berth < CONFIG_BERTHS_MAX &&
            (size_t)records[i].berth >= count)
            count = (size_t)records[i].berth + 1;
    return count;
}

static int open_berths(struct leases *leases, struct error *err)
{
    const struct config *config = leases->config;
    CLEANUP_FREE char *overlays = file_join(config->state_dir, "overlays");
    /* 0711: QEMU's user must pass through, and nobody needs to list it */
    if (file_make_folder(config->state_dir, 0711, err) < 0 || file_make_folder(overlays, 0711, err) < 0 ||
        file_make_folder(leases->golden, 0711, err) < 0)
        return -1;
    leases->offered = (size_t)config->berths;
    leases->count = count_berths(leases);
    leases->berths = memory_array(leases->count, sizeof *leases->berths);
    for (size_t i = 0; i < leases->count; i++) {
        struct berth *berth = &leases->berths[i];
        berth->leases = leases;
        berth->guest.hypervisor = leases->hypervisor;
        berth->n = (int)i;
        guest_name(leases->node_id, berth->n, berth->name);
        guest_uuid(leases->node_id, berth->n, berth->guest.uuid);
        berth->overlay = text_format("%s/%s.qcow2", overlays, berth->name);
        berth->console_log = text_format("%s/%s.console.log", overlays, berth->name);
        berth->holds = holds_new();
        CLEANUP_FREE char *held = text_format("%s/held-%zu", config->home, i);
        if (holds_keep(berth->holds, held, err) < 0)
            return -1;
        berth->expires_boot_ms = CLOCK_NEVER;
        pthread_mutex_init(&berth->mutex, NULL);
        sync_cond_init(&berth->changed);
        berth_enter(berth, BERTH_EMPTY, NULL);
    }
    return 0;
}

struct leases *leases_open(const struct leases_options *options, struct error *err)
{
    char why[WARM_WHY_SIZE];
    struct leases *leases = memory_new(sizeof *leases);
    *leases = (struct leases){
        .config = options->config,
        .node_id = options->node_id,
        .hypervisor = options->hypervisor,
        .eligibility = options->eligibility,
        .audit = options->audit,
        .pairing = options->pairing,
        .view_assets = options->view_assets,
        .peers = options->peers,
        .pictures = picture_budget_new(PICTURE_BUDGET_NODE, NULL),
        .parked = true,
    };
    leases->verified = file_join(options->config->home, "verified.json");
    leases->golden = file_join(options->config->state_dir, "golden");
    leases->warm = room_warm(options->config, options->hypervisor, why);
    log_info("lease", "%s", why);
    pthread_mutex_init(&leases->mutex, NULL);
    sync_cond_init(&leases->keeper_wake);
    if (journal_open(&leases->journal, options->config->home, err) < 0 || open_berths(leases, err) < 0 ||
        leases_recover(leases, err) < 0 || keeper_start(leases, err) < 0) {
        for (size_t i = 0; i < leases->count; i++) /* what was adopted waits for a better start */
            berth_leave_standing(&leases->berths[i]);
        leases_close(leases);
        return NULL;
    }
    struct guest_watcher watcher = {leases, on_guest_gone, on_guest_paused};
    hypervisor_watch(options->hypervisor, &watcher);
    return leases;
}

bool leases_left(const char *home)
{
    struct journal journal;
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t count = 0, live = 0;
    if (journal_open(&journal, home, &ignored) < 0)
        return false;
    if (journal_unfinished(&journal, &records, &count, &ignored) == 0)
        for (size_t i = 0; i < count; i++)
            live += records[i].state == JOURNAL_LIVE;
    journal_close(&journal);
    return live > 0;
}

/* What is nobody's, where no node runs. */
static void clear_berth(struct berth *berth)
{
    spare_dismiss(berth);
    berth_undo_again(berth);
}

/* Also one whose end was asked for and has not finished: that is no longer one to leave standing. */
static void finish_berth(struct berth *berth)
{
    struct lease_receipt receipt;
    struct error err = ERROR_INIT;
    if (berth_end(berth, NULL, REASON_OPERATOR, &receipt, &err) < 0 && err.code != ERROR_NOT_FOUND)
        log_error("lease", "%s; the next start of the node finishes it", err.text);
}

static void end_at_stop(struct berth *berth, const char *id)
{
    (void)id;
    clear_berth(berth);
    finish_berth(berth);
}

static void leave_at_stop(struct berth *berth, const char *id)
{
    (void)id;
    clear_berth(berth);
    berth_leave_standing(berth);
    finish_berth(berth);
}

/* Each berth on a thread of its own: none waits for another's viewers or guest. */
static void stop_berths(struct leases *leases, bool end_leases)
{
    static const char nobody[LEASE_ID_SIZE];
    for (size_t i = 0; i < leases->count; i++)
        jobs_start(&leases->berths[i], nobody, "lease-stop", end_leases ? end_at_stop : leave_at_stop);
    LOCK_SCOPE(&leases->mutex);
    jobs_await(leases);
}

void leases_stop(struct leases *leases, bool end_leases)
{
    pthread_mutex_lock(&leases->mutex);
    leases->stopping = true; /* from here on no berth is taken */
    pthread_cond_broadcast(&leases->keeper_wake);
    pthread_mutex_unlock(&leases->mutex);
    for (size_t i = 0; i < leases->count; i++)
        berth_cancel_create(&leases->berths[i], NULL);
    keeper_join(leases);
    stop_berths(leases, end_leases);
}

void leases_close(struct leases *leases)
{
    hypervisor_watch(leases->hypervisor, NULL);
    for (size_t i = 0; i < leases->count; i++) {
        holds_free(leases->berths[i].holds);
        free(leases->berths[i].overlay);
        free(leases->berths[i].console_log);
        pthread_cond_destroy(&leases->berths[i].changed);
        pthread_mutex_destroy(&leases->berths[i].mutex);
    }
    free(leases->berths);
    free(leases->verified);
    free(leases->golden);
    journal_close(&leases->journal);
    pthread_cond_destroy(&leases->keeper_wake);
    pthread_mutex_destroy(&leases->mutex);
    picture_budget_release(leases->pictures);
    free(leases);
}

/* --- parked ---------------------------------------------------------------------------------------- */

bool leases_parked(struct leases *leases)
{
    LOCK_SCOPE(&leases->mutex);
    return leases->parked;
}

int leases_park(struct leases *leases, struct error *err)
{
    if (eligibility_check(leases->eligibility, err) < 0)
        return -1;
    {
        LOCK_SCOPE(&leases->mutex);
        leases->parked = true;
    }
    jobs_wake_keeper(leases); /* to prepare spares */
    return 0;
}

int leases_unpark(struct leases *leases, struct error *err)
{
    pthread_mutex_lock(&leases->mutex);
    bool busy = false;
    for (size_t i = 0; i < leases->count; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        busy |= berth_is_taken(&leases->berths[i]);
    }
    leases->parked = busy && leases->parked;
    pthread_mutex_unlock(&leases->mutex);
    if (busy)
        return error_set(err, ERROR_LEASE_LIVE, "a lease is live; end it first, then unpark");
    jobs_wake_keeper(leases); /* spares are of no use now */
    return 0;
}

/* --- status ---------------------------------------------------------------------------------------- */

const char *leases_warm(const struct leases *leases)
{
    return config_warm_word(leases->warm);
}

size_t leases_berths(const struct leases *leases)
{
    return leases->count;
}

/* What does not answer of a live lease's guest, as it was found when it was used last. With berth.mutex held.
 */
static void describe_trouble(struct berth *berth, char *reason, size_t size)
{
    struct error why = ERROR_INIT;
    if (!berth->display)
        snprintf(reason, size, "the guest's display is not open");
    else if (display_lost(berth->display, &why))
        snprintf(reason, size, "%.*s", (int)size - 1, why.text);
    else if (berth->agent_silent && !berth->paused)
        snprintf(reason, size, "the guest's agent does not answer: text and keys are refused");
}

void leases_status(struct leases *leases, size_t n, struct berth_status *status)
{
    static const char *const words[] = {
        [BERTH_EMPTY] = "empty",   [BERTH_PREPARING] = "preparing", [BERTH_READY] = "ready",
        [BERTH_LEASED] = "leased", [BERTH_ENDING] = "ending",       [BERTH_FAILED] = "failed",
    };
    struct berth *berth = &leases->berths[n];
    LOCK_SCOPE(&berth->mutex);
    *status = (struct berth_status){
        .state = words[berth->state],
        .phase = berth->phase,
        .since_ms = berth->since_ms,
        .paused = berth->state == BERTH_LEASED ? berth->paused : NULL,
    };
    memcpy(status->reason, berth->reason, sizeof status->reason);
    if (berth->state == BERTH_READY) {
        status->spare = berth->spare.how;
        status->spare_shape = berth->spare.shape;
        status->spare_since_ms = berth->spare.since_ms;
    }
    status->live = berth->state == BERTH_LEASED;
    if (status->live)
        describe_trouble(berth, status->reason, sizeof status->reason);
    if (berth_is_taken(berth))
        memcpy(status->lease_id, berth->record.id, sizeof status->lease_id);
}
