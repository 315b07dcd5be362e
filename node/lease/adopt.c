/*
 * A lease that outlives the node's process: left standing when the node stops, taken up again by the next
 * one.
 *
 * The guest of a clean stop is paused, that of a crash has gone on by itself. Neither time is occupancy: it
 * stops at the journal's last stamp and goes on at the adoption. What the lease was promised does not move:
 * its id, its tokens, its disk and memory, and the time at which it expires.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/sync.h"
#include "base/text.h"
#include "guest/guest.h"
#include "guest/reinspect.h"
#include "lease/berth.h"

enum { ASK_TIMEOUT_MS = 10000, DISPLAY_TIMEOUT_MS = 15000 };

/* What is known of the guest by its record. Borrows from all. */
static struct guest_spec spec_of(const struct berth *berth, const struct journal_record *record)
{
    const struct config *config = berth->leases->options.config;
    return (struct guest_spec){
        .name = berth->name,
        .uuid = berth->guest.uuid,
        .node_id = berth->leases->options.node_id,
        .lease_id = record->id,
        .kvm = config->accel == ACCEL_KVM,
        .system = text_starts(config->libvirt_uri, "qemu:///system"),
        .vcpu = record->shape.vcpu,
        .mem_mib = record->shape.mem_gib * 1024,
        .overlay = berth->overlay,
        .console_log = berth->console_log,
    };
}

/* How long the node was not there, milliseconds: by the clock that no one sets, within one run of the host.
 */
static int64_t time_down(const struct journal_record *record)
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
static int64_t expiry(const struct journal_record *record)
{
    return record->expires_ms ? record->stamp_ms + (record->expires_ms - journal_reached_ms(record))
                              : CLOCK_NEVER;
}

/* Lets a guest that the node paused go on; says whether it stands for another reason. */
static int set_going(struct berth *berth, const struct guest *guest, bool paused_by_us, struct error *err)
{
    enum guest_state state;
    if (guest_state(guest, ASK_TIMEOUT_MS, &state, err) < 0)
        return -1;
    if (state == GUEST_GONE || state == GUEST_STOPPED)
        return error_set(err, ERROR_GUEST_FAILED, "the guest has stopped");
    if (state == GUEST_PAUSED && paused_by_us)
        return guest_resume(guest, ASK_TIMEOUT_MS, err);
    berth_set_paused(berth, state == GUEST_PAUSED            ? GUEST_WHY_PAUSED
                            : state == GUEST_PAUSED_IO_ERROR ? GUEST_WHY_IO_ERROR
                                                             : NULL);
    return 0;
}

int berth_adopt(struct berth *berth, const struct journal_record *left, struct error *err)
{
    struct leases *leases = berth->leases;
    struct journal_record record = *left;
    struct guest_spec spec = spec_of(berth, &record);
    struct error reason = ERROR_INIT;
    struct guest guest = guest_any_run(berth->guest.hypervisor, berth->guest.uuid);
    if (guest_reinspect(&guest, &spec, leases->options.config->image_dir, leases->golden, ASK_TIMEOUT_MS,
                        err) < 0 ||
        set_going(berth, &guest, record.paused, err) < 0)
        return -1;
    fault_point("adopt.resumed");
    record.down_ms += time_down(&record);
    record.paused = false;
    journal_stamp(&record);
    int64_t expires_boot_ms = expiry(&record);
    if (journal_write(&leases->journal, &record, err) < 0)
        return -1;
    fault_point("adopt.journalled");
    berth->record = record; /* nobody else knows of the berth yet */
    berth_note_run(berth, guest.run);

    /* A display that cannot be opened now is opened at its first use: the lease does not hang on it. */
    struct display *display = berth_open_display(berth, clock_deadline(DISPLAY_TIMEOUT_MS), &reason);
    if (!display)
        log_warning("lease", "%s: %s", record.id, reason.text);
    struct berth_view *view = berth_view_open(berth, &record, expires_boot_ms, &reason);
    if (!view)
        log_warning("lease", "%s has no guest view: %s", record.id, reason.text);
    pthread_mutex_lock(&berth->mutex);
    berth->since_boot_ms = record.stamp_ms;
    berth->expires_boot_ms = expires_boot_ms;
    berth->display = display;
    if (display)
        display_set_paused(display, berth->paused);
    berth->view = view;
    hypervisor_hold(berth->guest.hypervisor); /* until the berth is empty again */
    berth_enter(berth, BERTH_LEASED, NULL);
    pthread_mutex_unlock(&berth->mutex);
    log_info("lease", "%s goes on; the node was away for %lld s", record.id,
             (long long)time_down(left) / 1000);
    audit_write(leases->options.audit, "lease_adopted",
                json_pack("{s:s, s:I}", "lease", record.id, "down_seconds",
                          (json_int_t)(record.down_ms - left->down_ms) / 1000));
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
    struct berth_view *view = live ? TAKE(berth->view) : NULL;
    struct journal_record record = berth->record;
    pthread_mutex_unlock(&berth->mutex);
    if (!live)
        return;

    /* The record first: a guest that is not paused after all is found running, and that is fine too. */
    if (journal_write(&berth->leases->journal, &record, &err) < 0)
        log_error("lease", "%s: %s", record.id, err.text);
    fault_point("stop.journalled");
    berth_view_end(view, REASON_OPERATOR);
    berth_close_display(berth);
    berth_view_free(view);
    if (guest_pause(&berth->guest, ASK_TIMEOUT_MS, &err) < 0)
        log_warning("lease", "%s goes on without the node: %s", record.id, err.text);
    fault_point("stop.paused");
    log_info("lease", "%s is left standing for the next start of the node", record.id);
    pthread_mutex_lock(&berth->mutex);
    berth->acting = false;
    berth_enter(berth, BERTH_EMPTY, NULL);
    pthread_mutex_unlock(&berth->mutex);
    hypervisor_release(berth->guest.hypervisor);
}
