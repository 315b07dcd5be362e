#include "display/turn.h"

#include "base/clock.h"
#include "base/sync.h"

#define ECHO_MS 30000 /* how long QEMU may take over one message while it does say something */

int turn_check_wanted(const struct turn *turn, struct error *err)
{
    if (session_check(turn->session, err) < 0)
        return -1;
    if (cancel_fired(turn->cancel))
        return error_set(err, ERROR_CANCELLED,
                         "the caller has gone; what its action held down has been released");
    if (clock_left_ms(turn->deadline_ms) == 0)
        return error_set(err, ERROR_TIMEOUT,
                         "the time for this action is over; what it held down has been released");
    return 0;
}

int turn_check(const struct turn *turn, struct error *err)
{
    const char *paused = turn->input->paused;
    if (turn_check_wanted(turn, err) < 0)
        return -1;
    if (paused[0])
        return error_set(err, ERROR_PAUSED, "the guest is paused, and input would be lost: %s", paused);
    return 0;
}

int turn_hold_until(struct turn *turn, int64_t until_us, bool input, struct error *err)
{
    for (;;) {
        if ((input ? turn_check(turn, err) : turn_check_wanted(turn, err)) < 0)
            return -1;
        if (clock_monotonic_us() >= until_us)
            return 0;
        int64_t next_us = until_us;
        if (turn->deadline_ms < next_us / 1000)
            next_us = turn->deadline_ms * 1000;
        session_sleep_until(turn->session, next_us);
    }
}

int turn_await(struct turn *turn, uint64_t ping, struct error *err)
{
    struct session *session = turn->session;
    int64_t began_ms = clock_monotonic_ms();
    while (session->echoes < ping) {
        if (turn_check(turn, err) < 0)
            return -1;
        int64_t until_ms = clock_deadline(MUTE_MS);
        if (until_ms > turn->deadline_ms)
            until_ms = turn->deadline_ms;
        bool silent = !sync_cond_wait(&session->changed, &session->mutex, until_ms);
        if (!silent || session->echoes >= ping || clock_left_ms(turn->deadline_ms) == 0)
            continue;
        struct error late = ERROR_INIT;
        session_late(session, began_ms, &late);
        if (session->state == SESSION_DEAD || clock_monotonic_ms() - began_ms >= ECHO_MS) {
            *err = late;
            return -1;
        }
    }
    return 0;
}

int turn_take(struct turn *turn, struct error *err)
{
    struct turn **end = &turn->input->turns;
    unsigned before = 0;
    for (; *end; end = &(*end)->next)
        before++;
    if (before > TURN_WAITERS_MAX)
        return error_set(err, ERROR_TOO_MANY,
                         "%d callers wait for their turn on this guest already; wait for an answer first",
                         TURN_WAITERS_MAX);
    *end = turn;
    while (turn->input->turns != turn) {
        if (clock_left_ms(turn->deadline_ms) == 0)
            return error_set(err, ERROR_TIMEOUT,
                             "another caller's actions on this guest were not done by the deadline");
        if (turn_check_wanted(turn, err) < 0)
            return -1;
        sync_cond_wait(&turn->session->changed, &turn->session->mutex, turn->deadline_ms);
    }
    return turn_check_wanted(turn, err);
}

void turn_leave(struct turn *turn)
{
    struct turn **link = &turn->input->turns;
    while (*link && *link != turn)
        link = &(*link)->next;
    if (*link)
        *link = turn->next;
    pthread_cond_broadcast(&turn->session->changed);
}
