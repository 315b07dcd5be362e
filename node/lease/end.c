#include "lease/end.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/sync.h"
#include "lease/berth_view.h"
#include "lease/create.h"
#include "lease/find.h"
#include "lease/jobs.h"

int leases_write_receipt(struct leases *leases, struct journal_record *record, struct lease_receipt *receipt,
                         struct error *err)
{
    record->state = JOURNAL_ENDED;
    if (journal_write(&leases->journal, record, err) < 0)
        return -1;
    journal_receipt(record, receipt);
    audit_write(leases->audit, "lease_ended",
                json_pack("{s:s, s:s, s:I}", "lease", record->id, "reason", lease_reason_word(record->reason),
                          "occupancy_seconds", (json_int_t)receipt->occupancy_seconds));
    return 0;
}

/*
 * The acts of an end, each of which may be repeated. The tenant's guest goes even when the journal cannot be
 * written (a full disk); what then has to wait is the word that it is done, since there is no receipt yet.
 */
static int carry_out_end(struct berth *berth, struct journal_record *record, struct lease_receipt *receipt,
                         struct error *err)
{
    struct error unwritten = ERROR_INIT;
    if (journal_write(&berth->leases->journal, record, &unwritten) < 0)
        log_error("lease", "%s", unwritten.text);
    fault_point("end.journalled");
    berth_close_screen(berth, record->reason);
    fault_point("end.display_closed");
    if (berth_take_down(berth, err) < 0)
        return -1;
    fault_point("end.destroyed");
    return leases_write_receipt(berth->leases, record, receipt, err);
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

/* Makes the end of the lease this thread's; *record is the lease's then. */
static int begin_end(struct berth *berth, const char *id, enum lease_reason reason,
                     struct journal_record *record, struct error *err)
{
    int64_t deadline_ms = clock_deadline(GUEST_DESTROY_MS + 5000);
    LOCK_SCOPE(&berth->mutex);
    while (berth->acting && sync_cond_wait(&berth->changed, &berth->mutex, deadline_ms))
        continue;
    bool here = (berth->state == BERTH_LEASED || berth->state == BERTH_ENDING) &&
                berth->record.state != JOURNAL_CREATING && (!id || strcmp(berth->record.id, id) == 0);
    if (!here) {
        leases_no_such(err);
        return -1;
    }
    if (berth->acting)
        return error_set(err, ERROR_ENDING,
                         "the lease is being ended and its guest is not gone yet; ask again");
    if (berth->state == BERTH_LEASED)
        stop_occupancy(berth, reason);
    berth->acting = true;
    *record = berth->record;
    return 0;
}

int berth_end(struct berth *berth, const char *id, enum lease_reason reason, struct lease_receipt *receipt,
              struct error *err)
{
    struct journal_record record;
    if (begin_end(berth, id, reason, &record, err) < 0)
        return -1;
    int ended = carry_out_end(berth, &record, receipt, err);
    fault_point("end.receipt");
    pthread_mutex_lock(&berth->mutex);
    berth->acting = false;
    snprintf(berth->reason, sizeof berth->reason, "%.250s", ended < 0 ? err->text : "");
    berth_enter(berth, ended < 0 ? BERTH_ENDING : BERTH_EMPTY, NULL);
    pthread_mutex_unlock(&berth->mutex);
    if (ended < 0) {
        log_error("lease", "%s cannot be ended yet: %s", record.id, err->text);
        return error_recode(err, ERROR_ENDING);
    }
    hypervisor_release(berth->guest.hypervisor);
    jobs_wake_keeper(berth->leases); /* for the next guest */
    log_info("lease", "%s ended (%s) after %lld s", record.id, lease_reason_word(record.reason),
             (long long)receipt->occupancy_seconds);
    return 0;
}

int leases_end(struct leases *leases, const char *id, const struct pairing_grant *grant,
               enum lease_reason reason, struct lease_receipt *receipt, struct error *err)
{
    struct berth *berth = leases_lock(leases, id, grant);
    if (berth) {
        bool making = berth->state == BERTH_PREPARING;
        pthread_mutex_unlock(&berth->mutex);
        if (making && berth_cancel_create(berth, id))
            return error_set(
                err, ERROR_NOT_FOUND,
                "the lease was still being made: its create is cancelled, and there is no receipt");
        if (berth_end(berth, id, reason, receipt, err) == 0)
            return 0;
        if (err->code != ERROR_NOT_FOUND) { /* else another thread has just ended it */
            jobs_wake_keeper(leases);       /* to go on trying */
            return -1;
        }
    }
    return leases_receipt(leases, id, grant, receipt, err);
}
