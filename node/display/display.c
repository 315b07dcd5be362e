/* Opening, ending and looking: the public face of a session, and what its other files share. */
#include "display/display.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/sync.h"
#include "display/session.h"

/* libvncclient waits with select(): a descriptor past its set would write outside of it. */
#define DESCRIPTOR_MAX FD_SETSIZE

/* How long an orderly end may take before the socket is cut. */
#define END_MS 500

const unsigned char session_ping[SESSION_PING_SIZE] = {2,    0,    0,    3,    0,    0,    0,    0,
                                                       0xff, 0xff, 0xff, 0x21, 0xff, 0xff, 0xfe, 0xfe};

void session_wake(struct display *display)
{
    eventfd_write(display->wake_fd, 1);
}

void session_kill(struct display *display, const char *reason)
{
    if (display->state == SESSION_DEAD)
        return;
    display->state = SESSION_DEAD;
    snprintf(display->reason, sizeof display->reason, "%s", reason);
    shutdown(display->control_fd, SHUT_RDWR); /* the thread may be blocked in the middle of a message */
    session_wake(display);
    pthread_cond_broadcast(&display->changed);
}

int session_check(const struct display *display, struct error *err)
{
    if (display->ended)
        return error_set(err, ERROR_NOT_FOUND, "the lease has ended");
    if (display->state == SESSION_DEAD)
        return error_set(err, ERROR_GUEST_FAILED, "the guest's display is lost: %s", display->reason);
    return 0;
}

int session_late(struct display *display, int64_t since_ms, enum error_code code, struct error *err)
{
    int64_t now = clock_monotonic_ms();
    int64_t silent_since = since_ms > display->heard_ms ? since_ms : display->heard_ms;
    if (now - silent_since >= MUTE_MS) {
        session_kill(display, "QEMU has stopped answering");
        return session_check(display, err);
    }
    return error_set(err, code, "the guest's display did not answer by the deadline; try again");
}

uint64_t session_post(struct display *display, const unsigned char *bytes, size_t size, struct error *err)
{
    if (display->state == SESSION_DEAD || size + SESSION_PING_SIZE > OUTBOX_SIZE - display->outbox_size) {
        if (session_check(display, err) == 0)
            error_set(err, ERROR_GUEST_FAILED, "the guest's display takes no more input; try again");
        return 0;
    }
    if (size > 0) {
        memcpy(display->outbox + display->outbox_size, bytes, size);
        display->follow = true;
        display->acted_ms = clock_monotonic_ms();
    }
    memcpy(display->outbox + display->outbox_size + size, session_ping, SESSION_PING_SIZE);
    display->outbox_size += size + SESSION_PING_SIZE;
    session_wake(display);
    return ++display->pings;
}

int session_await(struct display *display, uint64_t ping, int64_t deadline_ms, struct error *err)
{
    int64_t began_ms = clock_monotonic_ms();
    while (display->echoes < ping) {
        if (session_check(display, err) < 0)
            return -1;
        if (!sync_cond_wait(&display->changed, &display->mutex, deadline_ms) && display->echoes < ping)
            return session_late(display, began_ms, ERROR_GUEST_FAILED, err);
    }
    return 0;
}

void session_sleep_until(struct display *display, int64_t until_us)
{
    struct timespec until = {.tv_sec = (time_t)(until_us / 1000000),
                             .tv_nsec = (long)(until_us % 1000000) * 1000};
    pthread_cond_timedwait(&display->changed, &display->mutex, &until);
}

static void free_session(struct display *display)
{
    frame_release(display->frame);
    hands_close(display);
    frame_release(display->spare);
    shots_close(display);
    cleanup_close(&display->socket_fd);
    cleanup_close(&display->control_fd);
    cleanup_close(&display->wake_fd);
    pthread_cond_destroy(&display->changed);
    pthread_mutex_destroy(&display->mutex);
    free(display);
}
CLEANUP_DEFINE(session, struct display *, free_session);

/* Moves the descriptor below what select() can hold, makes it non-blocking, and takes a second one. */
static int take_descriptor(struct display *display, int fd, struct error *err)
{
    CLEANUP_CLOSE int owned = fd;
    if (owned >= DESCRIPTOR_MAX) {
        owned = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        int reason = errno;
        close(fd);
        if (owned < 0)
            return error_set_errno(err, ERROR_GUEST_FAILED, reason, "cannot take over the guest's display");
        if (owned >= DESCRIPTOR_MAX)
            return error_set(
                err, ERROR_GUEST_FAILED,
                "cannot take over the guest's display: the node has %d files open, more than its VNC "
                "library can work with; end leases or views",
                owned);
    }
    int flags = fcntl(owned, F_GETFL);
    if (flags < 0 || fcntl(owned, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(owned, F_SETFD, FD_CLOEXEC) < 0)
        return error_set_errno(err, ERROR_GUEST_FAILED, errno,
                               "cannot set up the connection to the guest's display");
    display->control_fd = fcntl(owned, F_DUPFD_CLOEXEC, 3);
    display->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (display->control_fd < 0 || display->wake_fd < 0)
        return error_set_errno(err, ERROR_GUEST_FAILED, errno,
                               "cannot set up the connection to the guest's display");
    display->socket_fd = TAKE_FD(owned);
    return 0;
}

static struct display *new_session(int64_t timeout_ms)
{
    struct display *display = calloc(1, sizeof *display);
    if (!display)
        abort();
    pthread_mutex_init(&display->mutex, NULL);
    sync_cond_init(&display->changed);
    display->wake_fd = display->socket_fd = display->control_fd = -1;
    display->handshake_s = timeout_ms < 0 || timeout_ms > 3600000 ? 3600 : (int)(timeout_ms / 1000) + 1;
    display->want_ms = display->frame_ms = INT64_MIN;
    shots_open(display);
    display->pings = OPENING_PINGS;
    return display;
}

/* Waits until the handshake is over and QEMU has answered our own SetEncodings. */
static int await_session(struct display *display, int64_t deadline_ms, struct error *err)
{
    LOCK_SCOPE(&display->mutex);
    while (display->state == SESSION_OPENING)
        if (!sync_cond_wait(&display->changed, &display->mutex, deadline_ms))
            session_kill(display, "it did not answer in time");
    if (session_await(display, OPENING_PINGS, deadline_ms, err) < 0)
        return -1;
    hands_inherit(display);
    return 0;
}

struct display *display_open(int fd, const struct display_helper *assist, struct holds *holds,
                             int64_t timeout_ms, struct error *err)
{
    int64_t deadline_ms = clock_deadline(timeout_ms);
    CLEANUP(cleanup_session) struct display *display = new_session(timeout_ms);
    hands_open(display, assist, holds);
    if (take_descriptor(display, fd, err) < 0)
        return NULL;
    if (sync_thread_start(&display->thread, "display", rfb_run, display, err) < 0)
        return NULL;
    if (await_session(display, deadline_ms, err) < 0) {
        display_close(TAKE(display));
        error_prefix(err, "the guest's display cannot be opened");
        return NULL;
    }
    return TAKE(display);
}

void display_shutdown(struct display *display)
{
    LOCK_SCOPE(&display->mutex);
    display->ended = true;
    if (display->hands.stop)
        cancel_fire(display->hands.stop);
    pthread_cond_broadcast(&display->changed);
}

/* Releases what is down and waits for QEMU to have read it: closing first would throw it away. */
static void end_orderly(struct display *display)
{
    LOCK_SCOPE(&display->mutex);
    int64_t deadline_ms = clock_deadline(END_MS);
    hands_release(display);
    while (display->state == SESSION_RUNNING && display->echoes < display->pings)
        if (!sync_cond_wait(&display->changed, &display->mutex, deadline_ms))
            break;
    session_kill(display, "it was closed");
    display->stopping = true;
}

void display_close(struct display *display)
{
    end_orderly(display);
    pthread_join(display->thread, NULL);
    free_session(display);
}

struct frame *session_frame(struct display *display, int64_t since_ms, struct cancel *cancel,
                            int64_t deadline_ms, struct error *err)
{
    int64_t began_ms = clock_monotonic_ms();
    for (;;) {
        if (session_check(display, err) < 0 || session_cancelled(cancel, err))
            return NULL;
        if (display->frame && display->frame_ms >= since_ms)
            return display->frame;
        if (display->want_ms < since_ms) {
            display->want_ms = since_ms;
            session_wake(display);
        }
        if (!sync_cond_wait(&display->changed, &display->mutex, deadline_ms) &&
            display->frame_ms < since_ms) {
            session_late(display, began_ms, ERROR_GUEST_FAILED, err);
            return NULL;
        }
    }
}

bool session_cancelled(const struct cancel *cancel, struct error *err)
{
    if (!cancel_fired(cancel))
        return false;
    error_set(err, ERROR_CANCELLED, "the request was given up: its client has gone");
    return true;
}

void session_stir(void *session)
{
    struct display *display = session;
    LOCK_SCOPE(&display->mutex);
    pthread_cond_broadcast(&display->changed);
    pthread_cond_broadcast(&display->developed);
}

struct frame *display_capture(struct display *display, int64_t deadline_ms, struct error *err)
{
    int64_t since_ms = clock_monotonic_ms() - FRESH_SLACK_MS;
    LOCK_SCOPE(&display->mutex);
    struct frame *frame = session_frame(display, since_ms, NULL, deadline_ms, err);
    return frame ? frame_share(frame) : NULL;
}

bool display_lost(struct display *display, struct error *err)
{
    LOCK_SCOPE(&display->mutex);
    return !display->ended && session_check(display, err) < 0;
}

struct frame *display_wait_drawn(struct display *display, uint32_t width, uint32_t height,
                                 int64_t deadline_ms, struct error *err)
{
    for (;;) {
        CLEANUP_FRAME struct frame *frame = display_capture(display, deadline_ms, err);
        if (!frame)
            return NULL;
        if (frame->width == width && frame->height == height && !frame_is_blank(frame))
            return TAKE(frame);
        if (clock_left_ms(deadline_ms) == 0) {
            error_set(err, ERROR_GUEST_FAILED,
                      "the guest has drawn nothing at %ux%u by the deadline; its screen is %ux%u%s", width,
                      height, frame->width, frame->height, frame_is_blank(frame) ? " and blank" : "");
            return NULL;
        }
        if (watch_since(display, frame->sequence, deadline_ms, err) < 0)
            return NULL;
    }
}
