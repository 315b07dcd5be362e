/* Making a lease: taking a berth, bringing its guest up, going live; and giving up on the way. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/random.h"
#include "base/sync.h"
#include "doctor/fits.h"
#include "guest/guest.h"
#include "lease/berth.h"

/* How long a create waits for a berth that is being freed: a guest is gone within a second, usually, and one
 * that hangs after eleven. */
enum { ENDING_WAIT_MS = 15000, DESTROY_TIMEOUT_MS = 20000 };

/* With leases.mutex held: an empty berth, or NULL. */
static struct berth *find_empty(struct leases *leases)
{
    for (size_t i = 0; i < leases->offered; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].state == BERTH_EMPTY || leases->berths[i].state == BERTH_FAILED)
            return &leases->berths[i];
    }
    return NULL;
}

static int64_t given(int64_t value, int64_t otherwise)
{
    return value == -1 ? otherwise : value;
}

/* With leases.mutex held: a berth whose guest is about to be gone, or NULL. */
static struct berth *find_ending(struct leases *leases)
{
    for (size_t i = 0; i < leases->offered; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].state == BERTH_ENDING)
            return &leases->berths[i];
    }
    return NULL;
}

/*
 * Waits a while where every berth is taken but one of them is being freed. Before anything is refused:
 * libvirt may be so busy with a guest that does not go that the doctor gets no answer from it.
 */
static void await_ending(struct leases *leases)
{
    int64_t deadline_ms = clock_deadline(ENDING_WAIT_MS);
    for (;;) {
        pthread_mutex_lock(&leases->mutex);
        struct berth *ending = find_empty(leases) ? NULL : find_ending(leases);
        pthread_mutex_unlock(&leases->mutex);
        if (!ending || clock_left_ms(deadline_ms) == 0)
            return;
        LOCK_SCOPE(&ending->mutex);
        while (ending->state == BERTH_ENDING)
            if (!sync_cond_wait(&ending->changed, &ending->mutex, deadline_ms))
                break;
    }
}

/* Takes a berth for a create; its record then belongs to this thread. */
static struct berth *take_berth(struct leases *leases, struct error *err)
{
    LOCK_SCOPE(&leases->mutex);
    if (!leases->parked || leases->stopping) {
        error_set(err, ERROR_UNPARKED,
                  "the node accepts no new leases now; its operator can change that: berth park");
        return NULL;
    }
    struct berth *berth = find_empty(leases);
    if (!berth) {
        error_set(err, ERROR_LEASE_LIVE, "every berth of this node is taken by a lease; %s",
                  find_ending(leases) ? "one is being ended: ask again in some seconds" : "end it or wait");
        return NULL;
    }
    LOCK_SCOPE(&berth->mutex);
    berth->record = (struct journal_record){.state = JOURNAL_CREATING, .berth = berth->n};
    berth->cancelled = false;
    berth->paused = NULL;
    berth->reason[0] = '\0';
    holds_forget(berth->holds);
    hypervisor_hold(leases->options.hypervisor); /* until the berth is empty again */
    berth_enter(berth, BERTH_PREPARING, "define");
    return berth;
}

/* The checks that come after "is a berth free" in CONTRACT.md section 3; fills the record when they pass. */
static int fill_record(struct leases *leases, struct berth *berth, const struct lease_request *request,
                       const struct pairing_grant *grant, struct error *err)
{
    const struct config *config = leases->options.config;
    struct lease_shape shape = {given(request->vcpu, config->vcpu), given(request->mem_gib, config->mem_gib),
                                given(request->disk_gib, config->disk_gib)};
    if (lease_request_check(request, err) < 0 ||
        doctor_shape_fits(config, leases->options.hypervisor, leases->options.node_id, berth->uuid, &shape,
                          err) < 0)
        return -1;
    LOCK_SCOPE(&berth->mutex);
    struct journal_record *record = &berth->record;
    record->shape = shape;
    memcpy(record->id, "l_", 2);
    random_hex(record->id + 2, 16);
    memcpy(record->uuid, berth->uuid, sizeof record->uuid);
    memcpy(record->owner, grant->id, sizeof record->owner);
    return 0;
}

/* The berth's guest is usable: from here on it is a lease. */
static int go_live(struct leases *leases, struct berth *berth, const struct lease_request *request,
                   struct display *display, struct error *err)
{
    int64_t max_s = leases->options.config->max_lease_seconds;
    int64_t ttl_s = given(request->ttl_seconds, max_s ? max_s : -1);
    if (max_s && ttl_s > max_s)
        ttl_s = max_s;
    struct journal_record record = berth->record; /* ours alone while preparing */
    int64_t now_boot_ms = clock_boottime_ms();
    record.state = JOURNAL_LIVE;
    record.started_ms = clock_realtime_ms();
    record.expires_ms = ttl_s < 0 ? 0 : record.started_ms + ttl_s * 1000;
    journal_stamp(&record);
    int64_t expires_boot_ms = ttl_s < 0 ? CLOCK_NEVER : now_boot_ms + ttl_s * 1000;
    struct berth_view *view = berth_view_open(leases, berth, &record, expires_boot_ms, err);
    if (!view || journal_write(&leases->journal, &record, err) < 0) {
        berth_view_end(view, REASON_GRACEFUL);
        berth_view_free(view);
        return -1;
    }
    LOCK_SCOPE(&berth->mutex);
    berth->record = record;
    berth->since_boot_ms = now_boot_ms;
    berth->expires_boot_ms = expires_boot_ms;
    berth->display = display;
    display_set_paused(display, berth->paused); /* an event while it was not the berth's yet */
    berth->view = view;
    berth_enter(berth, BERTH_LEASED, NULL);
    return 0;
}

int leases_create(struct leases *leases, const struct lease_request *request,
                  const struct pairing_grant *grant, struct lease_document *lease, struct error *err)
{
    struct eligibility_answer report;
    await_ending(leases);
    eligibility_check(leases->options.eligibility, &report);
    json_decref(report.document);
    if (!report.ok)
        return error_set(err, ERROR_INELIGIBLE, "this node is not eligible now (%s)", report.why);
    struct berth *berth = take_berth(leases, err);
    if (!berth)
        return -1;
    if (fill_record(leases, berth, request, grant, err) < 0) {
        berth_leave(leases, berth, BERTH_EMPTY);
        return -1;
    }

    struct display *display = NULL;
    fault_point("create.taken");
    int made = journal_write(&leases->journal, &berth->record, err);
    fault_point("create.journalled");
    if (made == 0)
        made = berth_bring_up(leases, berth, &display, err);
    if (made == 0)
        made = go_live(leases, berth, request, display, err);
    if (made < 0 && display) {
        display_shutdown(display);
        display_close(display);
    }
    if (made < 0) {
        log_warning("lease", "%s was not created: %s", berth->record.id, err->text);
        berth_undo(leases, berth, err->text);
        keeper_wake(leases); /* to go on trying, where something of it is left */
        return -1;
    }
    fault_point("create.live");
    pthread_mutex_lock(&berth->mutex);
    berth_describe(berth, lease);
    pthread_mutex_unlock(&berth->mutex);
    log_info("lease", "%s is live", lease->id);
    audit_write(leases->options.audit, "lease_live",
                json_pack("{s:s, s:s, s:I, s:I, s:I}", "lease", lease->id, "pairing", grant->id, "vcpu",
                          (json_int_t)lease->shape.vcpu, "mem_gib", (json_int_t)lease->shape.mem_gib,
                          "disk_gib", (json_int_t)lease->shape.disk_gib));
    keeper_wake(leases);
    return 0;
}

bool berth_cancel_create(struct leases *leases, struct berth *berth, const char *id)
{
    struct error ignored = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    bool preparing = berth->state == BERTH_PREPARING && (!id || strcmp(berth->record.id, id) == 0);
    berth->cancelled |= preparing;
    pthread_mutex_unlock(&berth->mutex);
    bool cancelled = preparing;
    while (preparing) {
        guest_destroy(leases->options.hypervisor, berth->uuid, DESTROY_TIMEOUT_MS, &ignored);
        LOCK_SCOPE(&berth->mutex);
        if (berth->state == BERTH_PREPARING)
            sync_cond_wait(&berth->changed, &berth->mutex, clock_deadline(200));
        preparing = berth->state == BERTH_PREPARING;
        cancelled = berth->cancelled; /* false: it was live before it could be told */
    }
    return cancelled;
}
