#include "display/watch.h"

#include "base/clock.h"
#include "base/sync.h"

/* While somebody waits, QEMU is asked at least so often whether there is more. */
#define WATCH_MS 100

/* One who waits. */
struct watch {
    struct session *session;
    const struct action_region *region; /* NULL: the whole screen */
    struct cancel *cancel;
    int64_t deadline_ms;
};

static void begin_watch(struct watch *watch)
{
    if (watch->session->watchers++ == 0)
        session_wake(watch->session);
}

static void end_watch(struct watch *watch)
{
    watch->session->watchers--;
}

/* Asks for everything drawn before a time to be seen. */
static void want_seen(struct session *session, int64_t until_ms)
{
    if (session->want_seen_ms >= until_ms)
        return;
    if (session->seen_ms >= session->want_seen_ms)
        session->owed_ms = clock_monotonic_ms();
    session->want_seen_ms = until_ms;
    session_wake(session);
}

/*
 * Sleeps until something has happened, until a time, the deadline, or until QEMU must be asked again, which
 * is then done. The mutex is held. 1 when the deadline has passed, -1 when the session has ended or the
 * caller has given up.
 */
static int sleep_along(struct watch *watch, int64_t until_ms, struct error *err)
{
    struct session *session = watch->session;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms >= watch->deadline_ms)
        return 1;
    bool owed = session->seen_ms < session->want_seen_ms;
    if (owed)
        session_kill_mute(session, session->owed_ms);
    if (session_check_wanted(session, watch->cancel, err) < 0)
        return -1;
    if (!owed && now_ms - session->want_seen_ms >= WATCH_MS) {
        want_seen(session, now_ms);
        owed = true;
    }
    int64_t wake_ms = (owed ? now_ms : session->want_seen_ms) + WATCH_MS;
    if (until_ms < wake_ms)
        wake_ms = until_ms;
    if (watch->deadline_ms < wake_ms)
        wake_ms = watch->deadline_ms;
    sync_cond_wait(&session->changed, &session->mutex, wake_ms);
    return 0;
}

/* Waits until everything drawn before a time has been seen; 1 when the deadline came first. */
static int see_until(struct watch *watch, int64_t time_ms, struct error *err)
{
    int slept = 0;
    want_seen(watch->session, time_ms);
    while (slept == 0 && watch->session->seen_ms < time_ms)
        slept = sleep_along(watch, CLOCK_NEVER, err);
    return slept;
}

/* Waits for a change after the pixels had a sequence number. 1 when the deadline came first. */
static int await_change(struct watch *watch, uint64_t since, struct error *err)
{
    int slept = 0;
    while (slept == 0 && !changes_since(&watch->session->changes, since, watch->region, NULL, NULL))
        slept = sleep_along(watch, CLOCK_NEVER, err);
    return slept;
}

/* As await_change(); what was drawn before now does not count. */
static int await_new_change(struct watch *watch, struct error *err)
{
    int seen = see_until(watch, clock_monotonic_ms(), err);
    return seen != 0 ? seen : await_change(watch, watch->session->sequence, err);
}

/* Stillness counts from `from_ms` or from the last change, whichever is later. 1 when the deadline came
 * first. */
static int await_stillness(struct watch *watch, int64_t still_ms, int64_t from_ms, struct error *err)
{
    struct session *session = watch->session;
    int seen = see_until(watch, clock_monotonic_ms(), err);
    if (seen != 0)
        return seen;
    for (;;) {
        int64_t last_ms = INT64_MIN;
        changes_since(&session->changes, 0, watch->region, NULL, &last_ms);
        int64_t until_ms = (last_ms > from_ms ? last_ms : from_ms) + still_ms;
        if (session->seen_ms >= until_ms)
            return 0;
        int64_t now_ms = clock_monotonic_ms();
        if (now_ms >= watch->deadline_ms)
            return 1;
        if (now_ms >= until_ms)
            want_seen(session, until_ms);
        if (sleep_along(watch, now_ms >= until_ms ? CLOCK_NEVER : until_ms, err) < 0)
            return -1;
    }
}

int watch_wait(struct session *session, const struct action *action, struct cancel *cancel,
               int64_t deadline_ms, struct error *err)
{
    int64_t now_ms = clock_monotonic_ms(), until_ms = clock_deadline(action->timeout_ms);
    bool change = action->until == UNTIL_CHANGE;
    LOCK_SCOPE(&session->mutex);
    CLEANUP(end_watch)
    struct watch watch = {.session = session,
                          .region = action->has_region ? &action->region : NULL,
                          .cancel = cancel,
                          .deadline_ms = until_ms < deadline_ms ? until_ms : deadline_ms};
    begin_watch(&watch);
    int result =
        change ? await_new_change(&watch, err) : await_stillness(&watch, ACTION_STILL_MS, now_ms, err);
    if (result == 1)
        return error_set(err, ERROR_TIMEOUT, "the screen %s by the time-out",
                         change ? "did not change" : "was not still");
    return result;
}

int watch_since(struct session *session, uint64_t since, int64_t deadline_ms, struct error *err)
{
    LOCK_SCOPE(&session->mutex);
    CLEANUP(end_watch) struct watch watch = {.session = session, .deadline_ms = deadline_ms};
    begin_watch(&watch);
    return await_change(&watch, since, err);
}

int watch_still(struct session *session, const struct action_region *region, int64_t still_ms,
                struct cancel *cancel, int64_t deadline_ms, bool *still, int64_t *seen_ms, struct error *err)
{
    LOCK_SCOPE(&session->mutex);
    CLEANUP(end_watch)
    struct watch watch = {.session = session, .region = region, .cancel = cancel, .deadline_ms = deadline_ms};
    begin_watch(&watch);
    int result = await_stillness(&watch, still_ms, session->acted_ms, err);
    *still = result == 0;
    *seen_ms = session->seen_ms;
    return result < 0 ? -1 : 0;
}
