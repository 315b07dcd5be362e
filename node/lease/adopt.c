#include "lease/adopt.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/sync.h"
#include "guest/reinspect.h"
#include "lease/berth_display.h"
#include "lease/berth_view.h"
#include "lease/boot.h"

enum { DISPLAY_MS = 15000 };

/* How long the node was not there, milliseconds: by the clock that no one sets, within one run of the host.
 */
static int64_t time_away(const struct journal_record *record)
{
    char boot_id[CLOCK_BOOT_ID_SIZE];
    clock_boot_id(boot_id);
    int64_t down_ms = boot_id[0] && strcmp(boot_id, record->boot_id) == 0
                          ? clock_boottime_ms() - record->stamp_ms
                          : clock_realtime_ms() - record->stamped_ms;
    return down_ms > 0 ? down_ms : 0;
}

/* The lease's end as a boottime, of a record that was stamped just now. What UTC says is not asked: the
 * host's clock may have been set meanwhile. */
static int64_t expiry_of(const struct journal_record *record)
{
    return record->expires_ms ? record->stamp_ms + (record->expires_ms - journal_reached_ms(record))
                              : CLOCK_NEVER;
}

/* Lets a guest that the node paused go on; says whether it stands for another reason. */
static int resume_guest(struct berth *berth, const struct guest *guest, bool paused_by_us, struct error *err)
{
    enum guest_state state;
    if (guest_state(guest, BERTH_CALL_MS, &state, err) < 0)
        return -1;
    if (state == GUEST_GONE || state == GUEST_STOPPED)
        return error_set(err, ERROR_GUEST_FAILED, "the guest has stopped");
    if (state == GUEST_PAUSED && paused_by_us)
        return guest_resume(guest, BERTH_CALL_MS, err);
    berth_note_state(berth, state);
    return 0;
}

int berth_adopt(struct berth *berth, const struct journal_record *left, struct error *err)
{
    struct leases *leases = berth->leases;
    struct journal_record *record = &berth->record; /* nobody else knows of the berth yet */
    struct guest guest = berth->guest;
    struct guest_spec spec;
    struct error reason = ERROR_INIT;
    *record = *left;
    berth_spec(berth, NULL, &spec);
    if (guest_reinspect(&guest, &spec, leases->config->image_dir, leases->golden, BERTH_CALL_MS, err) < 0 ||
        resume_guest(berth, &guest, record->paused, err) < 0)
        return -1;
    fault_point("adopt.resumed");
    int64_t away_ms = time_away(record);
    record->down_ms += away_ms;
    record->paused = false;
    journal_stamp(record);
    if (journal_write(&leases->journal, record, err) < 0)
        return -1;
    fault_point("adopt.journalled");
    berth_note_run(berth, guest.run);
    berth->since_boot_ms = record->stamp_ms;
    berth->expires_boot_ms = expiry_of(record);

    /* A display that cannot be opened now is opened at its first use: the lease does not hang on it. */
    struct display *display = berth_open_display(berth, clock_deadline(DISPLAY_MS), &reason);
    if (!display)
        log_warning("lease", "%s: %s", record->id, reason.text);
    if (berth_open_view(berth, record, berth->expires_boot_ms, &reason) < 0)
        log_warning("lease", "%s has no guest view: %s", record->id, reason.text);
    pthread_mutex_lock(&berth->mutex);
    berth->display = display;
    if (display)
        display_set_paused(display, berth->paused);
    hypervisor_hold(berth->guest.hypervisor); /* until the berth is empty again */
    berth_enter(berth, BERTH_LEASED, NULL);
    pthread_mutex_unlock(&berth->mutex);
    log_info("lease", "%s goes on; the node was away for %lld s", record->id, (long long)away_ms / 1000);
    audit_write(leases->audit, "lease_adopted",
                json_pack("{s:s, s:I}", "lease", record->id, "down_seconds", (json_int_t)away_ms / 1000));
    return 0;
}

void berth_leave_standing(struct berth *berth)
{
    struct error err = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    while (berth->acting)
        sync_cond_wait(&berth->changed, &berth->mutex, CLOCK_NEVER);
    bool live = berth->state == BERTH_LEASED;
    if (live) {
        berth->record.occupied_ms = berth_occupied_ms(berth);
        berth->record.paused = true;
        journal_stamp(&berth->record);
        berth->since_boot_ms = berth->record.stamp_ms;
        berth->acting = true;
        berth_enter(berth, BERTH_ENDING, NULL); /* nobody opens anything of it any more */
    }
    struct journal_record record = berth->record;
    pthread_mutex_unlock(&berth->mutex);
    if (!live)
        return;

    /* The record first: a guest that is not paused after all is found running, and that is fine too. */
    if (journal_write(&berth->leases->journal, &record, &err) < 0)
        log_error("lease", "%s: %s", record.id, err.text);
    fault_point("stop.journalled");
    berth_close_screen(berth, REASON_OPERATOR);
    if (guest_pause(&berth->guest, BERTH_CALL_MS, &err) < 0)
        log_warning("lease", "%s goes on without the node: %s", record.id, err.text);
    fault_point("stop.paused");
    log_info("lease", "%s is left standing for the next start of the node", record.id);
    pthread_mutex_lock(&berth->mutex);
    berth->acting = false;
    berth_enter(berth, BERTH_EMPTY, NULL);
    pthread_mutex_unlock(&berth->mutex);
    hypervisor_release(berth->guest.hypervisor);
}
