/*
 * Waiting for the screen to change or to be still. Nobody polls pixels: the thread writes down what it has
 * seen to change (changes.h), and while somebody waits it keeps QEMU looking (session.h, "Changes").
 */
#include "base/clock.h"
#include "base/sync.h"
#include "display/session.h"

/* One who waits. */
struct watch {
    struct display *display;
    const struct action_region *region; /* NULL: the whole screen */
    struct cancel *cancel;
    int64_t deadline_ms;
};

static void begin(struct watch *watch)
{
    if (watch->display->watchers++ == 0)
        session_wake(watch->display);
}

static void end(struct watch *watch)
{
    watch->display->watchers--;
}

/* Asks for everything drawn before a time to be seen. */
static void want_seen(struct display *display, int64_t until_ms)
{
    if (display->want_seen_ms >= until_ms)
        return;
    if (display->seen_ms >= display->want_seen_ms)
        display->owed_ms = clock_monotonic_ms();
    display->want_seen_ms = until_ms;
    session_wake(display);
}

/*
 * Sleeps until something has happened, until a time, the deadline, or until QEMU must be asked again, which
 * is then done. The mutex is held. -1 when the session has ended or the caller has given up.
 */
static int doze(struct watch *watch, int64_t until_ms, struct error *err)
{
    struct display *display = watch->display;
    int64_t now_ms = clock_monotonic_ms();
    bool owed = display->seen_ms < display->want_seen_ms;
    int64_t silent_since_ms = display->heard_ms > display->owed_ms ? display->heard_ms : display->owed_ms;
    if (owed && now_ms - silent_since_ms >= MUTE_MS)
        session_kill(display, "QEMU has stopped answering");
    if (session_check(display, err) < 0 || session_cancelled(watch->cancel, err))
        return -1;
    if (!owed && now_ms - display->want_seen_ms >= WATCH_MS) {
        want_seen(display, now_ms);
        owed = true;
    }
    int64_t wake_ms = (owed ? now_ms : display->want_seen_ms) + WATCH_MS;
    if (until_ms < wake_ms)
        wake_ms = until_ms;
    if (watch->deadline_ms < wake_ms)
        wake_ms = watch->deadline_ms;
    sync_cond_wait(&display->changed, &display->mutex, wake_ms);
    return 0;
}

/* Waits until everything drawn before a time has been seen; 1 when the deadline came first. */
static int see_until(struct watch *watch, int64_t time_ms, struct error *err)
{
    want_seen(watch->display, time_ms);
    while (watch->display->seen_ms < time_ms) {
        if (clock_left_ms(watch->deadline_ms) == 0)
            return 1;
        if (doze(watch, CLOCK_NEVER, err) < 0)
            return -1;
    }
    return 0;
}

/* Waits for a change after the pixels had a sequence number. 1 when the deadline came first. */
static int await_change(struct watch *watch, uint64_t since, struct error *err)
{
    struct display *display = watch->display;
    while (!changes_since(&display->changes, since, watch->region, NULL, NULL)) {
        if (clock_left_ms(watch->deadline_ms) == 0)
            return 1;
        if (doze(watch, CLOCK_NEVER, err) < 0)
            return -1;
    }
    return 0;
}

/* As await_change(); what was drawn before now does not count. */
static int await_new_change(struct watch *watch, struct error *err)
{
    int seen = see_until(watch, clock_monotonic_ms(), err);
    return seen != 0 ? seen : await_change(watch, watch->display->sequence, err);
}

/* Stillness counts from `from_ms` or from the last change, whichever is later. 1 when the deadline came
 * first. */
static int await_stillness(struct watch *watch, int64_t still_ms, int64_t from_ms, struct error *err)
{
    struct display *display = watch->display;
    int seen = see_until(watch, clock_monotonic_ms(), err);
    if (seen != 0)
        return seen;
    for (;;) {
        int64_t last_ms = INT64_MIN;
        changes_since(&display->changes, 0, watch->region, NULL, &last_ms);
        int64_t until_ms = (last_ms > from_ms ? last_ms : from_ms) + still_ms;
        if (display->seen_ms >= until_ms)
            return 0;
        int64_t now_ms = clock_monotonic_ms();
        if (now_ms >= watch->deadline_ms)
            return 1;
        if (now_ms >= until_ms)
            want_seen(display, until_ms);
        if (doze(watch, now_ms >= until_ms ? CLOCK_NEVER : until_ms, err) < 0)
            return -1;
    }
}

int watch_wait(struct display *display, const struct action *action, struct cancel *cancel,
               int64_t deadline_ms, struct error *err)
{
    int64_t now_ms = clock_monotonic_ms(), until_ms = clock_deadline(action->timeout_ms);
    bool change = action->until == UNTIL_CHANGE;
    struct watch watch = {.display = display,
                          .region = action->has_region ? &action->region : NULL,
                          .cancel = cancel,
                          .deadline_ms = until_ms < deadline_ms ? until_ms : deadline_ms};
    LOCK_SCOPE(&display->mutex);
    begin(&watch);
    int result =
        change ? await_new_change(&watch, err) : await_stillness(&watch, ACTION_STILL_MS, now_ms, err);
    end(&watch);
    if (result == 1)
        return error_set(err, ERROR_TIMEOUT, "the screen %s by the time-out",
                         change ? "did not change" : "was not still");
    return result;
}

int watch_since(struct display *display, uint64_t since, int64_t deadline_ms, struct error *err)
{
    struct watch watch = {.display = display, .deadline_ms = deadline_ms};
    LOCK_SCOPE(&display->mutex);
    begin(&watch);
    int result = await_change(&watch, since, err);
    end(&watch);
    return result;
}

int watch_still(struct display *display, const struct action_region *region, int64_t still_ms,
                struct cancel *cancel, int64_t deadline_ms, bool *still, int64_t *seen_ms, struct error *err)
{
    struct watch watch = {.display = display, .region = region, .cancel = cancel, .deadline_ms = deadline_ms};
    LOCK_SCOPE(&display->mutex);
    begin(&watch);
    int result = await_stillness(&watch, still_ms, display->acted_ms, err);
    end(&watch);
    *still = result == 0;
    *seen_ms = display->seen_ms;
    return result < 0 ? -1 : 0;
}
