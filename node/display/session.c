#include "display/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/sync.h"

const unsigned char session_ping[SESSION_PING_SIZE] = {2,    0,    0,    3,    0,    0,    0,    0,
                                                       0xff, 0xff, 0xff, 0x21, 0xff, 0xff, 0xfe, 0xfe};

void session_init(struct session *session)
{
    pthread_mutex_init(&session->mutex, NULL);
    sync_cond_init(&session->changed);
    session->wake_fd = session->socket_fd = session->control_fd = -1;
    session->want_ms = session->frame_ms = INT64_MIN;
    session->pings = OPENING_PINGS;
}

void session_clear(struct session *session)
{
    frame_release(session->frame);
    frame_release(session->spare);
    cleanup_close(&session->socket_fd);
    cleanup_close(&session->control_fd);
    cleanup_close(&session->wake_fd);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->mutex);
}

void session_wake(struct session *session)
{
    eventfd_write(session->wake_fd, 1);
}

void session_kill(struct session *session, const char *reason)
{
    if (session->state == SESSION_DEAD)
        return;
    session->state = SESSION_DEAD;
    snprintf(session->reason, sizeof session->reason, "%s", reason);
    shutdown(session->control_fd, SHUT_RDWR); /* the thread may be blocked in the middle of a message */
    session_wake(session);
    pthread_cond_broadcast(&session->changed);
}

int session_check(const struct session *session, struct error *err)
{
    if (session->ended)
        return error_set(err, ERROR_NOT_FOUND, "the lease has ended");
    if (session->state == SESSION_DEAD)
        return error_set(err, ERROR_GUEST_FAILED, "the guest's display is lost: %s", session->reason);
    return 0;
}

int session_check_wanted(const struct session *session, const struct cancel *cancel, struct error *err)
{
    if (session_check(session, err) < 0)
        return -1;
    if (cancel_fired(cancel))
        return error_set(err, ERROR_CANCELLED, "the request was given up: its client has gone");
    return 0;
}

void session_kill_mute(struct session *session, int64_t since_ms)
{
    int64_t silent_since_ms = since_ms > session->heard_ms ? since_ms : session->heard_ms;
    if (clock_monotonic_ms() - silent_since_ms >= MUTE_MS)
        session_kill(session, "QEMU has stopped answering");
}

int session_late(struct session *session, int64_t since_ms, struct error *err)
{
    session_kill_mute(session, since_ms);
    if (session_check(session, err) < 0)
        return -1;
    return error_set(err, ERROR_GUEST_FAILED,
                     "the guest's display did not answer by the deadline; try again");
}

uint64_t session_post(struct session *session, const unsigned char *bytes, size_t size, struct error *err)
{
    if (session->state == SESSION_DEAD || size + SESSION_PING_SIZE > OUTBOX_SIZE - session->outbox_size) {
        if (session_check(session, err) == 0)
            error_set(err, ERROR_GUEST_FAILED, "the guest's display takes no more input; try again");
        return 0;
    }
    if (size > 0) {
        memcpy(session->outbox + session->outbox_size, bytes, size);
        session->follow = true;
        session->acted_ms = clock_monotonic_ms();
    }
    memcpy(session->outbox + session->outbox_size + size, session_ping, SESSION_PING_SIZE);
    session->outbox_size += size + SESSION_PING_SIZE;
    session_wake(session);
    return ++session->pings;
}

void session_sleep_until(struct session *session, int64_t until_us)
{
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000) * 1000};
    pthread_cond_timedwait(&session->changed, &session->mutex, &until);
}

struct frame *session_frame(struct session *session, int64_t since_ms, struct cancel *cancel,
                            int64_t deadline_ms, struct error *err)
{
    int64_t began_ms = clock_monotonic_ms();
    for (;;) {
        if (session_check_wanted(session, cancel, err) < 0)
            return NULL;
        if (session->frame && session->frame_ms >= since_ms)
            return session->frame;
        if (session->want_ms < since_ms) {
            session->want_ms = since_ms;
            session_wake(session);
        }
        if (!sync_cond_wait(&session->changed, &session->mutex, deadline_ms) &&
            session->frame_ms < since_ms) {
            session_late(session, began_ms, err);
            return NULL;
        }
    }
}
