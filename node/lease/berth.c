#include "lease/berth.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/hypervisor.h"
#include "image/overlay.h"

/* --- states ---------------------------------------------------------------------------------------- */

void berth_enter(struct berth *berth, enum berth_state state, const char *phase)
{
    berth->state = state;
    berth->phase = phase;
    berth->since_ms = clock_monotonic_ms();
    pthread_cond_broadcast(&berth->changed);
}

int berth_enter_phase(struct berth *berth, const char *phase, struct error *err)
{
    LOCK_SCOPE(&berth->mutex);
    if (berth->cancelled)
        return error_set(err, ERROR_GUEST_FAILED, "the create was cancelled");
    berth->phase = phase;
    pthread_cond_broadcast(&berth->changed);
    return 0;
}

void berth_enter_ready(struct berth *berth)
{
    berth_enter(berth, BERTH_READY, NULL);
    if (berth_spare_is_saved(berth))
        hypervisor_release(berth->guest.hypervisor);
}

void berth_begin(struct berth *berth, bool for_nobody)
{
    const struct spare *spare = &berth->spare;
    const struct image *image = spare->desktop.image; /* NULL where there is no spare */
    if (berth->state != BERTH_READY || berth_spare_is_saved(berth))
        hypervisor_hold(berth->guest.hypervisor); /* until there is no domain any more */
    berth->record = (struct journal_record){.state = JOURNAL_CREATING,
                                            .berth = berth->n,
                                            .shape = spare->shape,
                                            .helper = image && image->input_helper};
    berth->for_nobody = for_nobody;
    berth->cancelled = false;
    berth->reason[0] = '\0';
    if (!spare->how) {
        berth->paused = NULL;
        berth->agent_silent = false;
        holds_forget(berth->holds);
    }
    berth_enter(berth, BERTH_PREPARING, spare->how ? "claim" : "define");
}

void berth_put_back(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    if (berth->spare.how) {
        berth_enter_ready(berth);
        return;
    }
    berth_enter(berth, BERTH_EMPTY, NULL);
    hypervisor_release(berth->guest.hypervisor);
}

enum berth_state berth_state_now(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    return berth->state;
}

bool berth_is_taken(const struct berth *berth)
{
    return (berth->state == BERTH_PREPARING && !berth->for_nobody) || berth->state == BERTH_LEASED ||
           berth->state == BERTH_ENDING;
}

bool berth_spare_is_saved(const struct berth *berth)
{
    return berth->spare.how && strcmp(berth->spare.how, "disk") == 0;
}

/* --- its guest ------------------------------------------------------------------------------------- */

struct guest berth_guest_now(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    return berth->guest;
}

void berth_note_run(struct berth *berth, int run)
{
    LOCK_SCOPE(&berth->mutex);
    berth->guest.run = run;
}

bool berth_guest_is_gone(struct berth *berth)
{
    struct error err = ERROR_INIT;
    enum guest_state state;
    struct guest guest = berth_guest_now(berth);
    if (guest_state(&guest, BERTH_ASK_MS, &state, &err) == 0)
        return state == GUEST_GONE || state == GUEST_STOPPED;
    log_warning("lease", "%s: %s", berth->name, err.text);
    return false;
}

int64_t berth_occupied_ms(const struct berth *berth)
{
    return berth->record.occupied_ms + (clock_boottime_ms() - berth->since_boot_ms);
}

/* virtlogd keeps up to three more beside a log that it rotates: NAME.0 to NAME.2 (its max_backups). */
static int remove_console(const struct berth *berth, struct error *err)
{
    enum { ROTATED_MAX = 16 };
    for (int n = 0; n < ROTATED_MAX; n++) {
        CLEANUP_FREE char *rotated = text_format("%s.%d", berth->console_log, n);
        if (file_remove(rotated, err) < 0)
            return -1;
    }
    return file_remove(berth->console_log, err);
}

int berth_take_down(struct berth *berth, struct error *err)
{
    /* whatever there is of this UUID: the berth is ours alone, and its files go */
    struct guest any = guest_any_run(berth->guest.hypervisor, berth->guest.uuid);
    if (guest_destroy(&any, GUEST_DESTROY_MS, err) < 0)
        return -1;
    berth_note_run(berth, GUEST_ANY_RUN);
    fault_point("end.guest_gone");
    if (overlay_remove(berth->overlay, err) < 0 || remove_console(berth, err) < 0)
        return error_recode(err, ERROR_ENDING);
    return 0;
}

/* Undoes what a berth in this state has; in any other it may be another create's by now. */
static void undo_from(struct berth *berth, enum berth_state state, const char *why)
{
    struct error err = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    bool mine = !berth->acting && berth->state == state && berth->record.state == JOURNAL_CREATING;
    berth->acting |= mine;
    pthread_mutex_unlock(&berth->mutex);
    if (!mine)
        return;
    bool undone =
        berth_take_down(berth, &err) == 0 &&
        (!berth->record.id[0] || journal_remove(&berth->leases->journal, berth->record.id, &err) == 0);
    if (!undone)
        log_error("lease", "a guest that nobody got: %s", err.text);
    pthread_mutex_lock(&berth->mutex);
    if (why)
        snprintf(berth->reason, sizeof berth->reason, "%.250s", why);
    berth->acting = false;
    if (undone) /* from here on the berth may be another create's */
        berth_enter(berth, berth->reason[0] ? BERTH_FAILED : BERTH_EMPTY, NULL);
    else if (state != BERTH_ENDING)
        berth_enter(berth, BERTH_ENDING, NULL);
    pthread_mutex_unlock(&berth->mutex);
    if (undone)
        hypervisor_release(berth->guest.hypervisor);
}

void berth_undo(struct berth *berth, const char *why)
{
    undo_from(berth, BERTH_PREPARING, why);
}

void berth_undo_again(struct berth *berth)
{
    undo_from(berth, BERTH_ENDING, NULL);
}
