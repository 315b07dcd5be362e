/*
 * Who gets which berth. The best one for a shape is, in this order: one with a guest of that shape ready, one
 * where such a guest is just being prepared, a free one, and one whose prepared guest has another shape and
 * gives way.
 */
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "lease/berth.h"

/* How long a create waits for a berth that is being freed: a guest is gone within a second, usually, and one
 * that hangs after eleven. */
enum { ENDING_WAIT_MS = 15000 };

enum rank { RANK_TAKEN, RANK_OTHER_COMING, RANK_OTHER_READY, RANK_FREE, RANK_COMING, RANK_READY };

static bool same_shape(const struct lease_shape *a, const struct lease_shape *b)
{
    return a->vcpu == b->vcpu && a->mem_gib == b->mem_gib && a->disk_gib == b->disk_gib;
}

/* With berth.mutex held. */
static enum rank rank(const struct berth *berth, const struct lease_shape *shape)
{
    switch (berth->state) {
    case BERTH_READY:
        return same_shape(&berth->spare.shape, shape) ? RANK_READY : RANK_OTHER_READY;
    case BERTH_PREPARING:
        if (!berth->for_nobody)
            return RANK_TAKEN;
        if (same_shape(&berth->record.shape, shape))
            return RANK_COMING;
        return berth->awaited > 0 ? RANK_TAKEN : RANK_OTHER_COMING;
    case BERTH_EMPTY:
    case BERTH_FAILED:
        return RANK_FREE;
    default:
        return RANK_TAKEN;
    }
}

/* With leases.mutex held: the best berth for the shape, or NULL where all are taken. */
static struct berth *find_best(struct leases *leases, const struct lease_shape *shape, enum rank *best)
{
    struct berth *found = NULL;
    *best = RANK_TAKEN;
    for (size_t i = 0; i < leases->offered; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        enum rank here = rank(&leases->berths[i], shape);
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

void berth_await_ending(struct leases *leases)
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

bool berth_is_prepared(const struct berth *berth, const struct lease_shape *shape)
{
    return berth->spare.how && same_shape(&berth->spare.shape, shape);
}

void berth_begin(struct berth *berth, bool for_nobody)
{
    if (berth->state != BERTH_READY || !berth_has_domain(berth))
        hypervisor_hold(berth->guest.hypervisor);         /* until there is no domain any more */
    const struct image *image = berth->spare.guest.image; /* NULL where nothing is prepared */
    berth->record = (struct journal_record){.state = JOURNAL_CREATING,
                                            .berth = berth->n,
                                            .shape = berth->spare.shape,
                                            .helper = image && image->input_helper};
    berth->for_nobody = for_nobody;
    berth->cancelled = false;
    berth->reason[0] = '\0';
    if (!berth->spare.how) {
        berth->paused = NULL;
        berth->agent_silent = false;
        holds_forget(berth->holds);
    }
    berth_enter(berth, BERTH_PREPARING, berth->spare.how ? "claim" : "define");
}

void berth_put_back(struct berth *berth)
{
    bool empty = !berth->spare.how;
    pthread_mutex_lock(&berth->mutex);
    if (empty)
        berth_enter(berth, BERTH_EMPTY, NULL);
    else
        berth_enter_ready(berth);
    pthread_mutex_unlock(&berth->mutex);
    if (empty)
        hypervisor_release(berth->guest.hypervisor);
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

/* A berth that is this thread's now; NULL where *coming is to be waited for, or with an error. */
static struct berth *take_now(struct leases *leases, const struct lease_shape *shape, struct berth **coming,
                              bool *fits, struct error *err)
{
    enum rank best;
    *coming = NULL;
    LOCK_SCOPE(&leases->mutex);
    if (!leases->parked || leases->stopping) {
        error_set(err, ERROR_UNPARKED,
                  "the node accepts no new leases now; its operator can change that: berth park");
        return NULL;
    }
    struct berth *berth = find_best(leases, shape, &best);
    if (!berth) {
        error_set(err, ERROR_LEASE_LIVE, "every berth of this node is taken by a lease; %s",
                  find_ending(leases) ? "one is being ended: ask again in some seconds" : "end it or wait");
        return NULL;
    }
    LOCK_SCOPE(&berth->mutex);
    *fits = best == RANK_COMING;
    if (best == RANK_COMING || best == RANK_OTHER_COMING || rank(berth, shape) != best) {
        *coming = berth;
        return NULL;
    }
    berth_begin(berth, false);
    return berth;
}

struct berth *berth_take(struct leases *leases, const struct lease_request *request,
                         const struct lease_shape *shape, struct error *err)
{
    int64_t deadline_ms = clock_deadline(leases->options.config->start_timeout_seconds * 1000);
    for (;;) {
        bool fits = false;
        struct berth *coming;
        struct berth *berth = take_now(leases, shape, &coming, &fits, err);
        if (berth || !coming)
            return berth;
        if (lease_request_check(request, err) < 0) /* nobody waits, or gives way, for what is refused */
            return NULL;
        if (!fits)
            berth_cancel_create(coming, NULL);
        if (!await_spare(coming, deadline_ms)) {
            error_set(err, ERROR_GUEST_FAILED, "the guest that is being prepared did not get ready in time");
            return NULL;
        }
    }
}
