/*
 * Guests that are ready before anybody asks for them.
 *
 * While the node is parked the keeper sees to it that every berth has a guest prepared that no tenant ever
 * touched: started and waited for until it has nothing left to do. Then it is paused (ram), and a create
 * takes it over: its metadata gets the lease's id, its CPUs go on; or it is saved as the berth's golden state
 * (disk), once, and a create starts from that. Either way the guest's clock, which stood still, is set.
 *
 * A prepared guest has no record in the journal and no lease in its metadata: to a recovery it is a guest of
 * ours that belongs to nobody, and is destroyed.
 */
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/sync.h"
#include "doctor/room.h"
#include "guest/agent.h"
#include "guest/guest.h"
#include "guest/hypervisor.h"
#include "guest/owned.h"
#include "lease/berth.h"

enum {
    CALL_TIMEOUT_MS = 10000,
    CLAIM_FRAME_MS = 5000,     /* for the first picture of a guest that goes on */
    CLOCK_TIMEOUT_MS = 10000,  /* a stop of the node may have to wait for it */
    SETTLE_EVERY_MS = 300,     /* a guest has settled when its CPUs were this long */
    SETTLE_BUSY_PERMILLE = 60, /* busy for so little of the time, */
    SETTLE_MAX_MS = 20000,     /* and is waited for at most this long */
    LOOK_EVERY_MS = 600 * 1000,
    AGE_MAX_MS = 6 * 3600 * 1000, /* an older one is replaced: its uptime and caches tell of it */
    BACK_OFF_MS = 5000,           /* after the first failure; doubled with each more */
    BACK_OFF_MAX_MS = 600 * 1000,
    YOUNG_MS = 60 * 1000, /* one that dies so soon after it got ready counts as a failure */
};

static bool is_saved(const struct spare *prepared)
{
    return strcmp(prepared->how, "disk") == 0;
}

/* --- preparing ------------------------------------------------------------------------------------- */

/* Whether a create waits for the guest, or it is not wanted any more: then nothing else is waited for. */
static bool in_a_hurry(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    return berth->awaited > 0 || berth->cancelled;
}

/*
 * A desktop that has just been drawn has work left for seconds; it is done here and not in the tenant's time.
 * Told by the CPU time that QEMU uses for it.
 */
static void settle(struct berth *berth)
{
    struct error ignored = ERROR_INIT;
    int64_t deadline_ms = clock_deadline(SETTLE_MAX_MS), busy_us = 0, before_us = -1;
    int64_t window_us = 0, at_us = clock_monotonic_us();
    while (clock_left_ms(deadline_ms) > 0 && !in_a_hurry(berth)) {
        if (guest_cpu_time(&berth->guest, CALL_TIMEOUT_MS, &busy_us, &ignored) < 0)
            return;
        window_us = clock_monotonic_us() - at_us;
        if (before_us >= 0 && (busy_us - before_us) * 1000 <= window_us * SETTLE_BUSY_PERMILLE)
            return;
        before_us = busy_us;
        at_us += window_us;
        LOCK_SCOPE(&berth->mutex);
        if (berth->awaited == 0 && !berth->cancelled)
            sync_cond_wait(&berth->changed, &berth->mutex, clock_deadline(SETTLE_EVERY_MS));
    }
}

/* A guest that has booted and settled, or is waited for. */
static int boot(struct berth *berth, struct berth_desktop *guest, struct error *err)
{
    struct leases *leases = berth->leases;
    const struct lease_shape *shape = &berth->record.shape; /* ours alone while preparing */
    if (room_fits(leases->options.config, leases->options.hypervisor, leases->options.node_id,
                          berth->guest.uuid, shape, err) < 0 ||
        berth_boot(berth, guest, err) < 0 || berth_enter_phase(berth, "settle", err) < 0)
        return -1;
    settle(berth);
    return 0;
}

/* Whether the berth's golden state can be used; then *guest has its image. One that is doubtful goes. */
static bool find_golden(struct berth *berth, struct berth_desktop *guest)
{
    struct error err = ERROR_INIT;
    CLEANUP(berth_source_clear) struct berth_source source;
    if (berth_source_open(berth, &source, &err) < 0)
        return false; /* the boot will say why */
    if (berth_check_golden(berth, &source, &err) == 0) {
        guest->image = TAKE(source.image);
        return true;
    }
    if (err.code != ERROR_NOT_FOUND)
        log_warning("lease", "%s: its golden state is made anew: %s", berth->name, err.text);
    return false;
}

/*
 * Everything up to a guest that waits; *how says in what way. On failure berth_undo() takes away what there
 * is. A create that waits for the guest gets it as it is.
 */
static int prepare(struct berth *berth, struct berth_desktop *guest, const char **how, struct error *err)
{
    bool save = berth->leases->warm == WARM_DISK;
    *how = save ? "disk" : "ram";
    if (save && find_golden(berth, guest))
        return 0;
    if (boot(berth, guest, err) < 0)
        return -1;
    if (in_a_hurry(berth)) {
        *how = "ram";
        return 0;
    }
    if (save) {
        if (berth_enter_phase(berth, "save", err) < 0)
            return -1;
        struct image *image = TAKE(guest->image);
        berth_desktop_clear(guest);
        guest->image = image;
        if (berth_save_golden(berth, image, err) < 0)
            return -1;
    } else if (guest_pause(&berth->guest, CALL_TIMEOUT_MS, err) < 0) {
        return -1;
    }
    fault_point("prepare.done");
    return 0;
}

static int64_t back_off(int failures)
{
    int64_t ms = BACK_OFF_MS;
    for (int i = 1; i < failures && ms < BACK_OFF_MAX_MS; i++)
        ms *= 2;
    return clock_deadline(ms < BACK_OFF_MAX_MS ? ms : BACK_OFF_MAX_MS);
}

/* Notes that a preparation was of no use: the next one waits. */
static void note_failure(struct berth *berth, bool cancelled)
{
    LOCK_SCOPE(&berth->mutex);
    berth->failures += !cancelled;
    berth->prepare_ms = back_off(berth->failures); /* a create that made this one give way comes first */
}

bool berth_has_domain(const struct berth *berth)
{
    return !berth->spare.how || !is_saved(&berth->spare);
}

void berth_enter_ready(struct berth *berth)
{
    berth_enter(berth, BERTH_READY, NULL);
    if (!berth_has_domain(berth))
        hypervisor_release(berth->guest.hypervisor);
}

/* The last guest was of use: should the next one fail, the pauses begin anew. */
static void forget_failures(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    berth->failures = 0;
}

/* Shows the guest to whoever comes for it. False when it was told to give up. */
static bool make_ready(struct berth *berth, struct berth_desktop *guest, const char *how)
{
    LOCK_SCOPE(&berth->mutex);
    if (berth->cancelled)
        return false;
    berth->spare = (struct spare){
        .how = how,
        .shape = berth->record.shape,
        .guest = {TAKE(guest->image), TAKE(guest->display)},
        .since_ms = clock_monotonic_ms(),
    };
    berth_enter_ready(berth);
    return true;
}

static void run_prepare(const struct berth_job *job)
{
    struct berth *berth = job->berth;
    struct error err = ERROR_INIT;
    int64_t began_ms = clock_monotonic_ms();
    CLEANUP_DESKTOP struct berth_desktop guest = {0};
    const char *how;
    int prepared = prepare(berth, &guest, &how, &err);
    if (prepared == 0 && make_ready(berth, &guest, how)) {
        log_info("lease", "%s: a guest is ready (%s) after %lld ms", berth->name, how,
                 (long long)(clock_monotonic_ms() - began_ms));
        keeper_wake(berth->leases);
        return;
    }
    pthread_mutex_lock(&berth->mutex);
    bool cancelled = berth->cancelled;
    pthread_mutex_unlock(&berth->mutex);
    note_failure(berth, cancelled);
    if (!cancelled)
        log_warning("lease", "%s: no guest could be prepared: %s", berth->name, err.text);
    berth_desktop_clear(&guest);
    berth_undo(berth, cancelled ? NULL : err.text);
    keeper_wake(berth->leases);
}

/* --- for a lease ----------------------------------------------------------------------------------- */

/* Whether the job's lease is still there. */
static bool is_live(const struct berth_job *job)
{
    LOCK_SCOPE(&job->berth->mutex);
    return (job->berth->state == BERTH_PREPARING || job->berth->state == BERTH_LEASED) &&
           strcmp(job->berth->record.id, job->id) == 0;
}

static void run_set_clock(const struct berth_job *job)
{
    struct error err = ERROR_INIT;
    for (int tries = 0; tries < 2 && is_live(job); tries++)
        if (guest_set_clock(&job->guest, CLOCK_TIMEOUT_MS, &err) == 0)
            return;
    if (is_live(job))
        log_warning("lease", "%s: the guest's clock is not the host's: %s", job->id, err.text);
}

void berth_set_clock(struct berth *berth)
{
    struct berth_job job = {.berth = berth};
    memcpy(job.id, berth->record.id, sizeof job.id); /* ours alone while preparing */
    keeper_start_job("lease-clock", run_set_clock, &job);
}

/* The guest goes on, as that of the berth's record, and shows a fresh picture. */
static int wake(struct berth *berth, const struct berth_desktop *guest, struct error *err)
{
    if (berth_enter_phase(berth, "claim", err) < 0 || image_recheck(guest->image, err) < 0 ||
        guest_claim(&berth->guest, berth->leases->options.node_id, berth->record.id, CALL_TIMEOUT_MS, err) <
            0)
        return -1;
    berth_set_paused(berth, NULL); /* the event may be late */
    fault_point("claim.resumed");
    CLEANUP_FRAME struct frame *fresh = display_capture(guest->display, clock_deadline(CLAIM_FRAME_MS), err);
    if (!fresh)
        return -1;
    return frame_is_blank(fresh) ? error_set(err, ERROR_GUEST_FAILED, "the prepared guest shows nothing") : 0;
}

int spare_claim(struct berth *berth, struct berth_desktop *guest, struct error *err)
{
    struct error second = ERROR_INIT;
    struct spare *prepared = &berth->spare; /* ours alone while preparing */
    int claimed = is_saved(prepared) ? berth_restore(berth, guest, err) : wake(berth, &prepared->guest, err);
    if (claimed < 0) {
        note_failure(berth, false);
        berth_desktop_clear(guest);
        if (spare_drop(berth, &second) < 0)
            log_error("lease", "%s: %s", berth->name, second.text);
        return -1;
    }
    pthread_mutex_lock(&berth->mutex);
    struct berth_desktop left = prepared->guest;
    if (!is_saved(prepared)) {
        *guest = prepared->guest;
        left = (struct berth_desktop){0};
    }
    *prepared = (struct spare){0};
    berth->failures = 0;
    pthread_mutex_unlock(&berth->mutex);
    berth_desktop_clear(&left);
    return 0;
}

/* --- a prepared guest's end ------------------------------------------------------------------------ */

int spare_drop(struct berth *berth, struct error *err)
{
    pthread_mutex_lock(&berth->mutex);
    struct spare prepared = berth->spare;
    berth->spare = (struct spare){0};
    pthread_mutex_unlock(&berth->mutex);
    if (!prepared.how)
        return 0;
    berth_desktop_clear(&prepared.guest);
    int gone = berth_take_down(berth, err);
    LOCK_SCOPE(&berth->mutex);
    berth->paused = NULL;
    holds_forget(berth->holds);
    return gone;
}

/* Why a prepared guest is of no use any more; NULL when it is. */
static const char *unfit(struct berth *berth, const struct spare *prepared)
{
    struct error err = ERROR_INIT;
    if (!is_saved(prepared) && berth_guest_is_gone(berth))
        return "it has stopped";
    if (image_recheck(prepared->guest.image, &err) < 0)
        return "its image has changed";
    if (!is_saved(prepared) && clock_monotonic_ms() - prepared->since_ms > AGE_MAX_MS)
        return "it is old";
    return NULL;
}

static void run_discard(const struct berth_job *job)
{
    struct berth *berth = job->berth;
    struct error err = ERROR_INIT;
    if (spare_drop(berth, &err) < 0)
        log_warning("lease", "%s: %s", berth->name, err.text);
    berth_undo(berth, NULL);
    keeper_wake(berth->leases);
}

/* --- the keeper's part ----------------------------------------------------------------------------- */

/* Whether the berth is to have a guest prepared. With leases.mutex held. */
static bool wanted(const struct berth *berth)
{
    struct leases *leases = berth->leases;
    return leases->warm != WARM_OFF && leases->parked && !leases->stopping &&
           (size_t)berth->n < leases->offered;
}

static int64_t look_after_free(struct berth *berth)
{
    struct leases *leases = berth->leases;
    const struct config *config = leases->options.config;
    pthread_mutex_lock(&leases->mutex);
    pthread_mutex_lock(&berth->mutex);
    int64_t due_ms = berth->prepare_ms;
    bool begin = wanted(berth) && (berth->state == BERTH_EMPTY || berth->state == BERTH_FAILED);
    bool now = begin && due_ms <= clock_monotonic_ms();
    if (now) {
        berth_begin(berth, true);
        berth->record.shape = (struct lease_shape){config->vcpu, config->mem_gib, config->disk_gib};
    }
    pthread_mutex_unlock(&berth->mutex);
    pthread_mutex_unlock(&leases->mutex);
    if (now)
        keeper_start_job("lease-prepare", run_prepare, &(struct berth_job){.berth = berth});
    return begin && !now ? due_ms : CLOCK_NEVER;
}

/* Takes a ready berth out of everybody's reach for a look at its guest. False when it is not ready. */
static bool hold_ready(struct berth *berth, bool *keep)
{
    LOCK_SCOPE(&berth->leases->mutex);
    LOCK_SCOPE(&berth->mutex);
    *keep = wanted(berth);
    if (berth->state == BERTH_READY)
        berth_begin(berth, true);
    else
        return false;
    return true;
}

static bool let_go(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    if (berth->cancelled)
        return false;
    berth_enter_ready(berth);
    return true;
}

static int64_t look_after_ready(struct berth *berth)
{
    bool keep;
    if (!hold_ready(berth, &keep))
        return CLOCK_NEVER;
    const struct spare *prepared = &berth->spare; /* ours alone while preparing */
    bool young = clock_monotonic_ms() - prepared->since_ms < YOUNG_MS;
    const char *why = keep ? unfit(berth, prepared) : "no lease is waited for";
    if (!why && let_go(berth))
        return clock_deadline(LOOK_EVERY_MS);
    log_info("lease", "%s: the prepared guest goes: %s", berth->name, why ? why : "it gives way");
    if (keep && why && young)
        note_failure(berth, false);
    else
        forget_failures(berth);
    keeper_start_job("lease-discard", run_discard, &(struct berth_job){.berth = berth});
    return CLOCK_NEVER;
}

int64_t spare_look_after(struct berth *berth)
{
    pthread_mutex_lock(&berth->mutex);
    enum berth_state state = berth->state;
    pthread_mutex_unlock(&berth->mutex);
    if (state == BERTH_READY)
        return look_after_ready(berth);
    return state == BERTH_EMPTY || state == BERTH_FAILED ? look_after_free(berth) : CLOCK_NEVER;
}
