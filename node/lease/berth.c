#include "lease/berth.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sync.h"
#include "guest/guest.h"
#include "guest/hypervisor.h"
#include "image/overlay.h"

/* A QEMU that hangs takes libvirt 10 s of asking before it kills (FACTS), so destroying is given twice that.
 */
enum { DESTROY_TIMEOUT_MS = 20000 };

void berth_enter(struct berth *berth, enum berth_state state, const char *phase)
{
    berth->state = state;
    berth->phase = phase;
    berth->since_ms = clock_monotonic_ms();
    pthread_cond_broadcast(&berth->changed);
}

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

int64_t berth_occupied_ms(const struct berth *berth)
{
    return berth->record.occupied_ms + (clock_boottime_ms() - berth->since_boot_ms);
}

int berth_take_down(struct berth *berth, struct error *err)
{
    /* whatever there is of this UUID: the berth is ours alone, and its files go */
    struct guest any = guest_any_run(berth->guest.hypervisor, berth->guest.uuid);
    if (guest_destroy(&any, DESTROY_TIMEOUT_MS, err) < 0)
        return -1;
    berth_note_run(berth, GUEST_ANY_RUN);
    fault_point("end.guest_gone");
    if (overlay_remove(berth->overlay, err) < 0 || file_remove(berth->console_log, err) < 0)
        return error_recode(err, ERROR_ENDING);
    return 0;
}

/* Undoes what a berth in this state has; in any other it may be another create's by now. */
static void undo(struct berth *berth, enum berth_state state, const char *why)
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
    undo(berth, BERTH_PREPARING, why);
}

void berth_undo_again(struct berth *berth)
{
    undo(berth, BERTH_ENDING, NULL);
}

void berth_close_display(struct berth *berth)
{
    pthread_mutex_lock(&berth->mutex);
    struct display *display = TAKE(berth->display);
    if (display)
        display_shutdown(display);
    while (berth->users > 0 || berth->retired)
        sync_cond_wait(&berth->changed, &berth->mutex, CLOCK_NEVER);
    pthread_mutex_unlock(&berth->mutex);
    if (display)
        display_close(display);
}

/*
 * The acts of an end, each of which may be repeated. The tenant's guest goes even when the journal cannot be
 * written (a full disk); what then has to wait is the word that it is done, since there is no receipt yet.
 */
static int carry_out_end(struct berth *berth, struct journal_record *record, struct error *err)
{
    struct error unwritten = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    struct berth_view *view = TAKE(berth->view);
    pthread_mutex_unlock(&berth->mutex);
    if (journal_write(&berth->leases->journal, record, &unwritten) < 0)
        log_error("lease", "%s", unwritten.text);
    fault_point("end.journalled");
    berth_view_end(view, record->reason);
    berth_close_display(berth);
    berth_view_free(view);
    fault_point("end.display_closed");
    if (berth_take_down(berth, err) < 0)
        return -1;
    fault_point("end.destroyed");
    record->state = JOURNAL_ENDED;
    return journal_write(&berth->leases->journal, record, err);
}

/* Freezes the occupancy at the first call. With berth.mutex held, while leased. */
static void stop_occupancy(struct berth *berth, enum lease_reason reason)
{
    berth->record.occupied_ms = berth_occupied_ms(berth);
    berth->record.ended_ms = journal_reached_ms(&berth->record);
    berth->record.state = JOURNAL_ENDING;
    berth->record.reason = reason;
    berth_enter(berth, BERTH_ENDING, NULL);
}

int berth_end(struct berth *berth, const char *id, enum lease_reason reason, struct lease_receipt *receipt,
              struct error *err)
{
    struct leases *leases = berth->leases;
    int64_t deadline_ms = clock_deadline(DESTROY_TIMEOUT_MS + 5000);
    pthread_mutex_lock(&berth->mutex);
    while (berth->acting && sync_cond_wait(&berth->changed, &berth->mutex, deadline_ms))
        continue;
    bool here =
        (berth->state == BERTH_LEASED || berth->state == BERTH_ENDING) && strcmp(berth->record.id, id) == 0;
    if (!here || berth->acting) {
        bool late = here && berth->acting;
        pthread_mutex_unlock(&berth->mutex);
        return late ? error_set(err, ERROR_ENDING,
                                "the lease is being ended and its guest is not gone yet; ask again")
                    : leases_no_such(err);
    }
    if (berth->state == BERTH_LEASED)
        stop_occupancy(berth, reason);
    berth->acting = true;
    struct journal_record record = berth->record;
    pthread_mutex_unlock(&berth->mutex);

    int ended = carry_out_end(berth, &record, err);

    fault_point("end.receipt");
    pthread_mutex_lock(&berth->mutex);
    berth->acting = false;
    snprintf(berth->reason, sizeof berth->reason, "%.250s", ended < 0 ? err->text : "");
    berth_enter(berth, ended < 0 ? BERTH_ENDING : BERTH_EMPTY, NULL);
    pthread_mutex_unlock(&berth->mutex);
    if (ended < 0) {
        log_error("lease", "%s cannot be ended yet: %s", id, err->text);
        return error_recode(err, ERROR_ENDING);
    }
    hypervisor_release(berth->guest.hypervisor);
    keeper_wake(leases); /* for the next guest */
    journal_receipt(&record, receipt);
    audit_write(leases->options.audit, "lease_ended",
                json_pack("{s:s, s:s, s:I}", "lease", id, "reason", lease_reason_word(record.reason),
                          "occupancy_seconds", (json_int_t)receipt->occupancy_seconds));
    log_info("lease", "%s ended (%s) after %lld s", id, lease_reason_word(record.reason),
             (long long)receipt->occupancy_seconds);
    return 0;
}
