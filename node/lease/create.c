#include "lease/create.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/random.h"
#include "base/sync.h"
#include "doctor/room.h"
#include "guest/agent.h"
#include "lease/berth_view.h"
#include "lease/boot.h"
#include "lease/find.h"
#include "lease/jobs.h"
#include "lease/spare.h"

/* A guest that hangs is gone after eleven seconds; a stop of the node may have to wait for its clock. */
enum { ENDING_WAIT_MS = 15000, CLOCK_MS = 10000 };

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
            guest_destroy(&guest, GUEST_DESTROY_MS, &ignored);
        LOCK_SCOPE(&berth->mutex);
        if (berth->state == BERTH_PREPARING)
            sync_cond_wait(&berth->changed, &berth->mutex, clock_deadline(200));
        cancelled = berth->cancelled; /* false: it was live before it could be told */
        preparing = cancelled && berth->state == BERTH_PREPARING; /* and not another's by now */
    }
    return cancelled;
}

/* What is asked for, and by whom. */
struct wish {
    const struct lease_request *request;
    struct lease_shape shape;
    const struct pairing_grant *grant;
};

static int check_wish(const struct wish *wish, struct error *err)
{
    if (lease_request_check(wish->request, err) < 0)
        return -1;
    if (wish->grant->max_seconds && wish->request->ttl_seconds > wish->grant->max_seconds)
        return error_set(err, ERROR_BAD_SHAPE,
                         "\"ttl_seconds\" may be %" PRId64 " at most with this token, which its invite says",
                         wish->grant->max_seconds);
    return 0;
}

/* --- choosing a berth -------------------------------------------------------------------------------- */

enum rank { RANK_TAKEN, RANK_OTHER_COMING, RANK_OTHER_READY, RANK_FREE, RANK_COMING, RANK_READY };

static bool is_same_shape(const struct lease_shape *a, const struct lease_shape *b)
{
    return a->vcpu == b->vcpu && a->mem_gib == b->mem_gib && a->disk_gib == b->disk_gib;
}

/* With berth.mutex held. */
static enum rank rank_berth(const struct berth *berth, const struct lease_shape *shape)
{
    switch (berth->state) {
    case BERTH_READY:
        return is_same_shape(&berth->spare.shape, shape) ? RANK_READY : RANK_OTHER_READY;
    case BERTH_PREPARING:
        if (!berth->for_nobody)
            return RANK_TAKEN;
        if (is_same_shape(&berth->record.shape, shape))
            return RANK_COMING;
        return berth->awaited > 0 ? RANK_TAKEN : RANK_OTHER_COMING;
    case BERTH_EMPTY:
    case BERTH_FAILED:
        return RANK_FREE;
    default:
        return RANK_TAKEN;
    }
}

static bool is_coming(enum rank rank)
{
    return rank == RANK_COMING || rank == RANK_OTHER_COMING;
}

/* With leases.mutex held: the best berth for the shape, or NULL where all are taken. */
static struct berth *find_best(struct leases *leases, const struct lease_shape *shape, enum rank *best)
{
    struct berth *found = NULL;
    *best = RANK_TAKEN;
    for (size_t i = 0; i < leases->offered; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        enum rank here = rank_berth(&leases->berths[i], shape);
        if (here > *best) {
            found = &leases->berths[i];
            *best = here;
        }
    }
    return found;
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

/* Waits, bounded, where every berth is taken but one of them is being freed. */
static void await_ending(struct leases *leases)
{
    /* Before anything is refused: libvirt may be so busy with a guest that does not go that the doctor gets
     * no answer from it. */
    static const struct lease_shape any = {0};
    int64_t deadline_ms = clock_deadline(ENDING_WAIT_MS);
    for (;;) {
        enum rank best;
        pthread_mutex_lock(&leases->mutex);
        struct berth *ending = find_best(leases, &any, &best) ? NULL : find_ending(leases);
        pthread_mutex_unlock(&leases->mutex);
        if (!ending || clock_left_ms(deadline_ms) == 0)
            return;
        LOCK_SCOPE(&ending->mutex);
        while (ending->state == BERTH_ENDING)
            if (!sync_cond_wait(&ending->changed, &ending->mutex, deadline_ms))
                break;
    }
}

/* Waits until the berth's preparation is over, however it ends. False at the deadline. */
static bool await_spare(struct berth *berth, int64_t deadline_ms)
{
    LOCK_SCOPE(&berth->mutex);
    berth->awaited++;
    pthread_cond_broadcast(&berth->changed);
    bool over = true;
    while (over && berth->state == BERTH_PREPARING && berth->for_nobody)
        over = sync_cond_wait(&berth->changed, &berth->mutex, deadline_ms);
    berth->awaited--;
    return over;
}

/* With leases.mutex held: how many leases of this owner are live or being made. */
static int64_t count_owned(struct leases *leases, const char *owner)
{
    int64_t count = 0;
    for (size_t i = 0; i < leases->count; i++) {
        const struct berth *berth = &leases->berths[i];
        LOCK_SCOPE(&leases->berths[i].mutex);
        count +=
            berth_is_taken(berth) && berth->state != BERTH_ENDING && strcmp(berth->record.owner, owner) == 0;
    }
    return count;
}

/* With leases.mutex held: whether the node, and the invite behind the token, let it have one more. */
static int check_open(struct leases *leases, const struct pairing_grant *grant, struct error *err)
{
    if (!leases->parked || leases->stopping)
        return error_set(err, ERROR_UNPARKED,
                         "the node accepts no new leases now; its operator can change that: berth park");
    if (grant->leases_max && count_owned(leases, grant->id) >= grant->leases_max)
        return error_set(err, ERROR_LEASE_LIVE,
                         "this token has %" PRId64 " live already, as many leases as its invite lets it have "
                         "at once; end one first",
                         grant->leases_max);
    return 0;
}

/* The best berth for the wish. It is this thread's, unless *best says that a spare is still coming there. */
static struct berth *take_best(struct leases *leases, const struct wish *wish, enum rank *best,
                               struct error *err)
{
    LOCK_SCOPE(&leases->mutex);
    if (check_open(leases, wish->grant, err) < 0)
        return NULL;
    for (;;) {
        struct berth *berth = find_best(leases, &wish->shape, best);
        if (!berth) {
            error_set(err, ERROR_LEASE_LIVE, "every berth of this node is taken by a lease; %s",
                      find_ending(leases) ? "one is being ended: ask again in some seconds"
                                          : "end it or wait");
            return NULL;
        }
        LOCK_SCOPE(&berth->mutex);
        if (rank_berth(berth, &wish->shape) != *best)
            continue;
        if (is_coming(*best))
            return berth;
        berth_begin(berth, false);
        memcpy(berth->record.owner, wish->grant->id,
               sizeof berth->record.owner); /* which count_owned() sees */
        return berth;
    }
}

/*
 * Takes a berth for a create, with its spare if it has one; waits for one that is coming. NULL with
 * ERROR_UNPARKED, ERROR_LEASE_LIVE, what check_wish() says, or ERROR_GUEST_FAILED.
 */
static struct berth *take_berth(struct leases *leases, const struct wish *wish, struct error *err)
{
    int64_t deadline_ms = clock_deadline(leases->config->start_timeout_seconds * 1000);
    for (;;) {
        enum rank best;
        struct berth *berth = take_best(leases, wish, &best, err);
        if (!berth || !is_coming(best))
            return berth;
        if (check_wish(wish, err) < 0) /* nobody waits, or gives way, for what is refused */
            return NULL;
        if (best == RANK_OTHER_COMING)
            berth_cancel_create(berth, NULL);
        if (!await_spare(berth, deadline_ms)) {
            error_set(err, ERROR_GUEST_FAILED, "the guest that is being prepared did not get ready in time");
            return NULL;
        }
    }
}

/* --- making it ------------------------------------------------------------------------------------- */

static int64_t value_or(int64_t value, int64_t otherwise)
{
    return value == -1 ? otherwise : value;
}

static struct lease_shape shape_of(const struct config *config, const struct lease_request *request)
{
    return (struct lease_shape){value_or(request->vcpu, config->vcpu),
                                value_or(request->mem_gib, config->mem_gib),
                                value_or(request->disk_gib, config->disk_gib)};
}

/* Whether a guest can be had for the request: the spare, or one that fits on this host. */
static int check_fit(struct berth *berth, const struct lease_shape *shape, struct error *err)
{
    bool fits = berth->spare.how && is_same_shape(&berth->spare.shape, shape);
    if (fits && !berth_spare_is_saved(berth)) /* it has its memory already */
        return 0;
    if (!fits && spare_drop(berth, err) < 0)
        return -1;
    return room_fits(berth->leases->config, berth->leases->node_id, &berth->guest, shape, err);
}

/* The checks that come after "is a berth free" in CONTRACT.md section 3; fills the record when they pass. */
static int fill_record(struct berth *berth, const struct wish *wish, struct error *err)
{
    if (check_wish(wish, err) < 0 || check_fit(berth, &wish->shape, err) < 0)
        return -1;
    LOCK_SCOPE(&berth->mutex);
    struct journal_record *record = &berth->record;
    record->shape = wish->shape;
    memcpy(record->id, "l_", 2);
    random_hex(record->id + 2, 16);
    memcpy(record->uuid, berth->guest.uuid, sizeof record->uuid);
    return 0;
}

/* A usable guest for the berth's record: the spare, or, where that fails too, a cold one. */
static int get_guest(struct berth *berth, struct berth_desktop *desktop, struct error *err)
{
    struct error reason = ERROR_INIT;
    if (berth->spare.how) { /* ours alone while preparing */
        if (spare_claim(berth, desktop, &reason) == 0)
            return 0;
        log_warning("lease", "%s: the spare cannot be used, another guest is started: %s", berth->name,
                    reason.text);
    }
    return berth_boot(berth, desktop, err);
}

/* Whether the lease is still the berth's; then *guest is its guest. */
static bool find_guest(struct berth *berth, const char *id, struct guest *guest)
{
    LOCK_SCOPE(&berth->mutex);
    *guest = berth->guest;
    return (berth->state == BERTH_PREPARING || berth->state == BERTH_LEASED) &&
           strcmp(berth->record.id, id) == 0;
}

/* The clock of a guest that stood still is behind, and that of one that booted under load may be wrong as
 * well. A job, since the create does not wait for it. */
static void set_guest_clock(struct berth *berth, const char *id)
{
    struct error err = ERROR_INIT;
    struct guest guest;
    for (int tries = 0; tries < 2 && find_guest(berth, id, &guest); tries++)
        if (guest_set_clock(&guest, CLOCK_MS, &err) == 0)
            return;
    if (find_guest(berth, id, &guest))
        log_warning("lease", "%s: the guest's clock is not the host's: %s", id, err.text);
}

/* The berth's guest is usable: from here on it is a lease. */
static int go_live(struct berth *berth, const struct lease_request *request, struct berth_desktop *desktop,
                   struct lease_document *lease, struct error *err)
{
    int64_t max_s = berth->leases->config->max_lease_seconds;
    int64_t ttl_s = value_or(request->ttl_seconds, max_s ? max_s : -1);
    if (max_s && ttl_s > max_s)
        ttl_s = max_s;
    struct journal_record record = berth->record; /* ours alone while preparing */
    int64_t now_boot_ms = clock_boottime_ms();
    record.state = JOURNAL_LIVE;
    record.started_ms = clock_realtime_ms();
    record.expires_ms = ttl_s < 0 ? 0 : record.started_ms + ttl_s * 1000;
    journal_stamp(&record);
    int64_t expires_boot_ms = ttl_s < 0 ? CLOCK_NEVER : now_boot_ms + ttl_s * 1000;
    if (berth_open_view(berth, &record, expires_boot_ms, err) < 0 ||
        journal_write(&berth->leases->journal, &record, err) < 0)
        return -1;
    LOCK_SCOPE(&berth->mutex);
    if (berth->cancelled)
        return error_set(err, ERROR_GUEST_FAILED, "the create was cancelled");
    berth->record = record;
    berth->since_boot_ms = now_boot_ms;
    berth->expires_boot_ms = expires_boot_ms;
    berth->display = TAKE(desktop->display);
    display_set_paused(berth->display, berth->paused); /* an event while it was not the berth's yet */
    berth_enter(berth, BERTH_LEASED, NULL);
    berth_describe(berth, lease);
    return 0;
}

/* From the record to the lease. On failure nothing of it is left, or the keeper goes on trying. */
static int make_lease(struct berth *berth, const struct lease_request *request, struct lease_document *lease,
                      struct error *err)
{
    CLEANUP_DESKTOP struct berth_desktop desktop = {0};
    fault_point("create.taken");
    int made = journal_write(&berth->leases->journal, &berth->record, err);
    fault_point("create.journalled");
    if (made == 0)
        made = get_guest(berth, &desktop, err);
    if (made == 0) {
        jobs_start(berth, berth->record.id, "lease-clock", set_guest_clock);
        made = go_live(berth, request, &desktop, lease, err);
    }
    if (made == 0)
        return 0;
    log_warning("lease", "%s was not created: %s", berth->record.id, err->text);
    berth_close_screen(berth, REASON_GRACEFUL);
    berth_desktop_clear(&desktop);
    berth_undo(berth, err->text);
    return -1;
}

int leases_create(struct leases *leases, const struct lease_request *request,
                  const struct pairing_grant *grant, struct lease_document *lease, struct error *err)
{
    struct lease_request asked = *request;
    if (asked.ttl_seconds == -1 && grant->max_seconds)
        asked.ttl_seconds = grant->max_seconds;
    struct wish wish = {&asked, shape_of(leases->config, request), grant};
    await_ending(leases);
    if (eligibility_check(leases->eligibility, err) < 0)
        return -1;
    struct berth *berth = take_berth(leases, &wish, err);
    if (!berth)
        return -1;
    int made = -1;
    if (fill_record(berth, &wish, err) == 0)
        made = make_lease(berth, &asked, lease, err);
    else if (err->code == ERROR_ENDING) /* the spare that has to give way is not gone */
        berth_undo(berth, err->text);
    else
        berth_put_back(berth);
    jobs_wake_keeper(leases);
    if (made < 0)
        return -1;
    fault_point("create.live");
    log_info("lease", "%s is live", lease->id);
    audit_write(leases->audit, "lease_live",
                json_pack("{s:s, s:s, s:I, s:I, s:I}", "lease", lease->id, "pairing", grant->id, "vcpu",
                          (json_int_t)lease->shape.vcpu, "mem_gib", (json_int_t)lease->shape.mem_gib,
                          "disk_gib", (json_int_t)lease->shape.disk_gib));
    return 0;
}
