#include "lease/spare.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/sync.h"
#include "doctor/room.h"
#include "guest/agent.h"
#include "guest/owned.h"
#include "lease/berth_display.h"
#include "lease/berth_golden.h"
#include "lease/boot.h"
#include "lease/jobs.h"

enum {
    CLAIM_FRAME_MS = 5000,     /* for the first picture of a guest that goes on */
    SETTLE_EVERY_MS = 300,     /* a guest has settled when its CPUs were this long */
    SETTLE_BUSY_PERMILLE = 60, /* busy for so little of the time, */
    SETTLE_MAX_MS = 20000,     /* and is waited for at most this long */
    LOOK_EVERY_MS = 600 * 1000,
    AGE_MAX_MS = 6 * 3600 * 1000, /* an older one is replaced: its uptime and caches tell of it */
    BACK_OFF_MS = 5000,           /* after the first failure; doubled with each more */
    BACK_OFF_MAX_MS = 600 * 1000,
    YOUNG_MS = 60 * 1000, /* one that dies so soon after it got ready counts as a failure */
};

/* --- preparing ------------------------------------------------------------------------------------- */

/* Whether a create waits for the guest, or it is not wanted any more: then nothing else is waited for. */
static bool is_in_a_hurry(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    return berth->awaited > 0 || berth->cancelled;
}

/*
 * A desktop that has just been drawn has work left for seconds; it is done here and not in the tenant's time.
 * Told by the CPU time that QEMU uses for it.
 */
static void await_settled(struct berth *berth)
{
    struct error ignored = ERROR_INIT;
    int64_t deadline_ms = clock_deadline(SETTLE_MAX_MS), busy_us = 0, before_us = -1;
    int64_t window_us = 0, at_us = clock_monotonic_us();
    while (clock_left_ms(deadline_ms) > 0 && !is_in_a_hurry(berth)) {
        if (guest_cpu_time(&berth->guest, BERTH_CALL_MS, &busy_us, &ignored) < 0)
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

/* Whether the berth's golden state can be used; then the desktop has its image. One that is doubtful goes. */
static bool find_golden(struct berth *berth, struct berth_desktop *desktop)
{
    struct error err = ERROR_INIT;
    CLEANUP_SOURCE struct berth_source source;
    if (berth_source_open(berth, &source, &err) < 0)
        return false; /* the boot will say why */
    if (berth_check_golden(berth, &source, &err) == 0) {
        desktop->image = TAKE(source.image);
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
static int prepare_guest(struct berth *berth, struct berth_desktop *desktop, const char **how,
                         struct error *err)
{
    struct leases *leases = berth->leases;
    bool save = leases->warm == WARM_DISK;
    *how = "disk";
    if (save && find_golden(berth, desktop))
        return 0;
    *how = "ram";
    /* the record is ours alone while preparing */
    if (room_fits(leases->config, leases->node_id, &berth->guest, &berth->record.shape, err) < 0 ||
        berth_boot(berth, desktop, err) < 0 || berth_enter_phase(berth, "settle", err) < 0)
        return -1;
    await_settled(berth);
    if (is_in_a_hurry(berth))
        return 0;
    if (save) {
        *how = "disk";
        if (berth_enter_phase(berth, "save", err) < 0)
            return -1;
        display_close(TAKE(desktop->display));
        if (berth_save_golden(berth, desktop->image, err) < 0)
            return -1;
    } else if (guest_pause(&berth->guest, BERTH_CALL_MS, err) < 0) {
        return -1;
    }
    fault_point("prepare.done");
    return 0;
}

/* Notes that a preparation was of no use: the next one waits, twice as long with each that failed and was not
 * told to give up. Says whether it was. */
static bool note_failure(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    berth->failures += !berth->cancelled;
    int64_t ms = BACK_OFF_MS;
    for (int i = 1; i < berth->failures && ms < BACK_OFF_MAX_MS; i++)
        ms *= 2;
    /* a create that made this one give way comes first */
    berth->prepare_ms = clock_deadline(ms < BACK_OFF_MAX_MS ? ms : BACK_OFF_MAX_MS);
    return berth->cancelled;
}

/* Shows the guest to whoever comes for it. False when it was told to give up. */
static bool make_ready(struct berth *berth, struct berth_desktop *desktop, const char *how)
{
    LOCK_SCOPE(&berth->mutex);
    if (berth->cancelled)
        return false;
    berth->spare = (struct spare){
        .how = how,
        .shape = berth->record.shape,
        .desktop = {TAKE(desktop->image), TAKE(desktop->display)},
        .since_ms = clock_monotonic_ms(),
    };
    berth_enter_ready(berth);
    return true;
}

static void prepare_spare(struct berth *berth, const char *id)
{
    (void)id;
    struct error err = ERROR_INIT;
    int64_t began_ms = clock_monotonic_ms();
    CLEANUP_DESKTOP struct berth_desktop desktop = {0};
    const char *how;
    int prepared = prepare_guest(berth, &desktop, &how, &err);
    if (prepared == 0 && make_ready(berth, &desktop, how)) {
        log_info("lease", "%s: a spare is ready (%s) after %lld ms", berth->name, how,
                 (long long)(clock_monotonic_ms() - began_ms));
        return;
    }
    bool cancelled = note_failure(berth);
    if (!cancelled)
        log_warning("lease", "%s: no spare could be prepared: %s", berth->name, err.text);
    berth_desktop_clear(&desktop);
    berth_undo(berth, cancelled ? NULL : err.text);
}

/* --- for a lease ----------------------------------------------------------------------------------- */

/* The guest goes on, as that of the berth's record, and shows a fresh picture. */
static int wake_spare(struct berth *berth, struct error *err)
{
    const struct berth_desktop *desktop = &berth->spare.desktop;
    if (berth_enter_phase(berth, "claim", err) < 0 || image_recheck(desktop->image, err) < 0 ||
        guest_claim(&berth->guest, berth->leases->node_id, berth->record.id, BERTH_CALL_MS, err) < 0)
        return -1;
    berth_set_paused(berth, NULL); /* the event may be late */
    fault_point("claim.resumed");
    CLEANUP_FRAME struct frame *fresh =
        display_capture(desktop->display, clock_deadline(CLAIM_FRAME_MS), err);
    if (!fresh)
        return -1;
    return frame_is_blank(fresh) ? error_set(err, ERROR_GUEST_FAILED, "the prepared guest shows nothing") : 0;
}

int spare_claim(struct berth *berth, struct berth_desktop *desktop, struct error *err)
{
    struct error second = ERROR_INIT;
    bool saved = berth_spare_is_saved(berth); /* the spare is ours alone while preparing */
    if ((saved ? berth_restore(berth, desktop, err) : wake_spare(berth, err)) < 0) {
        note_failure(berth);
        berth_desktop_clear(desktop);
        if (spare_drop(berth, &second) < 0)
            log_error("lease", "%s: %s", berth->name, second.text);
        return -1;
    }
    struct berth_desktop left = berth->spare.desktop;
    if (!saved) {
        *desktop = left;
        left = (struct berth_desktop){0};
    }
    pthread_mutex_lock(&berth->mutex);
    berth->spare = (struct spare){0};
    berth->failures = 0;
    pthread_mutex_unlock(&berth->mutex);
    berth_desktop_clear(&left);
    return 0;
}

/* --- its end --------------------------------------------------------------------------------------- */

int spare_drop(struct berth *berth, struct error *err)
{
    pthread_mutex_lock(&berth->mutex);
    struct spare spare = berth->spare;
    berth->spare = (struct spare){0};
    pthread_mutex_unlock(&berth->mutex);
    if (!spare.how)
        return 0;
    berth_desktop_clear(&spare.desktop);
    int gone = berth_take_down(berth, err);
    LOCK_SCOPE(&berth->mutex);
    berth->paused = NULL;
    holds_forget(berth->holds);
    return gone;
}

/* Drops the spare and makes the berth free. */
static void discard_spare(struct berth *berth, const char *id)
{
    (void)id;
    struct error err = ERROR_INIT;
    if (spare_drop(berth, &err) < 0)
        log_warning("lease", "%s: %s", berth->name, err.text);
    berth_undo(berth, NULL);
}

/* Takes a ready berth out of everybody's reach. False when it is not ready. With berth.mutex held. */
static bool begin_ready(struct berth *berth)
{
    bool ready = berth->state == BERTH_READY;
    if (ready)
        berth_begin(berth, true);
    return ready;
}

void spare_dismiss(struct berth *berth)
{
    pthread_mutex_lock(&berth->mutex);
    bool ready = begin_ready(berth);
    pthread_mutex_unlock(&berth->mutex);
    if (ready)
        discard_spare(berth, "");
}

/* --- the keeper's part ----------------------------------------------------------------------------- */

/* Whether the berth is to have a spare. With leases.mutex held. */
static bool is_wanted_in(const struct berth *berth)
{
    const struct leases *leases = berth->leases;
    return leases->warm != WARM_OFF && leases->parked && !leases->stopping &&
           (size_t)berth->n < leases->offered;
}

static int64_t look_after_free(struct berth *berth)
{
    const struct config *config = berth->leases->config;
    pthread_mutex_lock(&berth->leases->mutex);
    pthread_mutex_lock(&berth->mutex);
    int64_t due_ms = berth->prepare_ms;
    bool begin = is_wanted_in(berth) && (berth->state == BERTH_EMPTY || berth->state == BERTH_FAILED);
    bool now = begin && due_ms <= clock_monotonic_ms();
    if (now) {
        berth_begin(berth, true);
        berth->record.shape = (struct lease_shape){config->vcpu, config->mem_gib, config->disk_gib};
    }
    pthread_mutex_unlock(&berth->mutex);
    pthread_mutex_unlock(&berth->leases->mutex);
    if (now)
        jobs_start(berth, berth->record.id, "lease-prepare", prepare_spare);
    return begin && !now ? due_ms : CLOCK_NEVER;
}

/* Why the berth's spare is of no use any more; NULL when it is. */
static const char *find_fault(struct berth *berth)
{
    struct error err = ERROR_INIT;
    const struct spare *spare = &berth->spare; /* ours alone while preparing */
    bool saved = berth_spare_is_saved(berth);
    if (!saved && berth_guest_is_gone(berth))
        return "it has stopped";
    if (image_recheck(spare->desktop.image, &err) < 0)
        return "its image has changed";
    if (!saved && clock_monotonic_ms() - spare->since_ms > AGE_MAX_MS)
        return "it is old";
    return NULL;
}

/* Makes a berth ready again that was taken for a look at its spare. False where it is to give way. */
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
    pthread_mutex_lock(&berth->leases->mutex);
    pthread_mutex_lock(&berth->mutex);
    bool keep = is_wanted_in(berth), ready = begin_ready(berth);
    pthread_mutex_unlock(&berth->mutex);
    pthread_mutex_unlock(&berth->leases->mutex);
    if (!ready)
        return CLOCK_NEVER;
    bool young = clock_monotonic_ms() - berth->spare.since_ms < YOUNG_MS;
    const char *why = keep ? find_fault(berth) : "no lease is waited for";
    if (!why && let_go(berth))
        return clock_deadline(LOOK_EVERY_MS);
    log_info("lease", "%s: the spare goes: %s", berth->name, why ? why : "it gives way");
    if (keep && why && young) {
        note_failure(berth);
    } else { /* it was of use: should the next one fail, the pauses begin anew */
        LOCK_SCOPE(&berth->mutex);
        berth->failures = 0;
    }
    jobs_start(berth, berth->record.id, "lease-discard", discard_spare);
    return CLOCK_NEVER;
}

int64_t spare_look_after(struct berth *berth)
{
    enum berth_state state = berth_state_now(berth);
    if (state == BERTH_READY)
        return look_after_ready(berth);
    return state == BERTH_EMPTY || state == BERTH_FAILED ? look_after_free(berth) : CLOCK_NEVER;
}
