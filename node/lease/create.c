/* Making a lease: taking a berth, bringing its guest up, going live; and giving up on the way. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/random.h"
#include "base/sync.h"
#include "doctor/room.h"
#include "guest/guest.h"
#include "lease/berth.h"

enum { DESTROY_TIMEOUT_MS = 20000 };

static int64_t given(int64_t value, int64_t otherwise)
{
    return value == -1 ? otherwise : value;
}

static struct lease_shape shape_of(const struct config *config, const struct lease_request *request)
{
    return (struct lease_shape){given(request->vcpu, config->vcpu), given(request->mem_gib, config->mem_gib),
                                given(request->disk_gib, config->disk_gib)};
}

/* Whether a guest can be had for the request: the one that is ready, or one that fits on this host. */
static int see_to_fit(struct berth *berth, const struct lease_shape *shape, struct error *err)
{
    struct leases *leases = berth->leases;
    bool prepared = berth_is_prepared(berth, shape);
    if (prepared && berth_has_domain(berth)) /* it has its memory already */
        return 0;
    if (!prepared && spare_drop(berth, err) < 0)
        return -1;
    return room_fits(leases->options.config, leases->options.hypervisor, leases->options.node_id,
                             berth->guest.uuid, shape, err);
}

/* The checks that come after "is a berth free" in CONTRACT.md section 3; fills the record when they pass. */
static int fill_record(struct berth *berth, const struct lease_request *request,
                       const struct lease_shape *shape, const struct pairing_grant *grant, struct error *err)
{
    if (lease_request_check(request, err) < 0 || see_to_fit(berth, shape, err) < 0)
        return -1;
    LOCK_SCOPE(&berth->mutex);
    struct journal_record *record = &berth->record;
    record->shape = *shape;
    memcpy(record->id, "l_", 2);
    random_hex(record->id + 2, 16);
    memcpy(record->uuid, berth->guest.uuid, sizeof record->uuid);
    memcpy(record->owner, grant->id, sizeof record->owner);
    return 0;
}

/* A usable guest for the berth's record: the prepared one, or, where that fails too, a cold one. */
static int get_guest(struct berth *berth, struct berth_desktop *guest, struct error *err)
{
    struct error reason = ERROR_INIT;
    if (berth->spare.how) { /* ours alone while preparing */
        if (spare_claim(berth, guest, &reason) == 0)
            return 0;
        log_warning("lease", "%s: the prepared guest cannot be used, another is started: %s", berth->name,
                    reason.text);
    }
    return berth_boot(berth, guest, err);
}

/* The berth's guest is usable: from here on it is a lease. */
static int go_live(struct berth *berth, const struct lease_request *request, struct berth_desktop *guest,
                   struct error *err)
{
    int64_t max_s = berth->leases->options.config->max_lease_seconds;
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
    struct berth_view *view = berth_view_open(berth, &record, expires_boot_ms, err);
    if (!view || journal_write(&berth->leases->journal, &record, err) < 0) {
        berth_view_end(view, REASON_GRACEFUL);
        berth_view_free(view);
        return -1;
    }
    pthread_mutex_lock(&berth->mutex);
    bool cancelled = berth->cancelled;
    if (!cancelled) {
        berth->record = record;
        berth->since_boot_ms = now_boot_ms;
        berth->expires_boot_ms = expires_boot_ms;
        berth->display = TAKE(guest->display);
        display_set_paused(berth->display, berth->paused); /* an event while it was not the berth's yet */
        berth->view = TAKE(view);
        berth_enter(berth, BERTH_LEASED, NULL);
    }
    pthread_mutex_unlock(&berth->mutex);
    if (!cancelled)
        return 0;
    berth_view_end(view, REASON_GRACEFUL);
    berth_view_free(view);
    return error_set(err, ERROR_GUEST_FAILED, "the create was cancelled");
}

int leases_create(struct leases *leases, const struct lease_request *request,
                  const struct pairing_grant *grant, struct lease_document *lease, struct error *err)
{
    struct lease_shape shape = shape_of(leases->options.config, request);
    berth_await_ending(leases);
    if (eligibility_check(leases->options.eligibility, err) < 0)
        return -1;
    struct berth *berth = berth_take(leases, request, &shape, err);
    if (!berth)
        return -1;
    if (fill_record(berth, request, &shape, grant, err) < 0) {
        if (err->code == ERROR_ENDING) /* the prepared guest that has to give way is not gone */
            berth_undo(berth, err->text);
        else
            berth_put_back(berth);
        keeper_wake(leases);
        return -1;
    }

    CLEANUP_DESKTOP struct berth_desktop guest = {0};
    fault_point("create.taken");
    int made = journal_write(&leases->journal, &berth->record, err);
    fault_point("create.journalled");
    if (made == 0)
        made = get_guest(berth, &guest, err);
    if (made == 0) {
        berth_set_clock(berth);
        made = go_live(berth, request, &guest, err);
    }
    if (made < 0) {
        log_warning("lease", "%s was not created: %s", berth->record.id, err->text);
        berth_desktop_clear(&guest);
        berth_undo(berth, err->text);
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

bool berth_cancel_create(struct berth *berth, const char *id)
{
    struct error ignored = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    bool preparing = berth->state == BERTH_PREPARING && (!id || strcmp(berth->record.id, id) == 0);
    berth->cancelled |= preparing;
    pthread_mutex_unlock(&berth->mutex);
    bool cancelled = preparing;
    while (preparing) {
        struct guest guest = berth_guest_now(berth);
        if (guest.run != GUEST_ANY_RUN) /* else it starts just now, and has one in a moment */
            guest_destroy(&guest, DESTROY_TIMEOUT_MS, &ignored);
        LOCK_SCOPE(&berth->mutex);
        if (berth->state == BERTH_PREPARING)
            sync_cond_wait(&berth->changed, &berth->mutex, clock_deadline(200));
        cancelled = berth->cancelled; /* false: it was live before it could be told */
        preparing = cancelled && berth->state == BERTH_PREPARING; /* and not another's by now */
    }
    return cancelled;
}
