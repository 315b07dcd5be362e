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

/* How often somebody who waits for a picture looks again while nothing changes. */
#define LOOK_MS 100

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
    if (size > 0)
        memcpy(display->outbox + display->outbox_size, bytes, size);
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
    display_frame_release(display->frame);
    hands_close(display);
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
    return session_await(display, OPENING_PINGS, deadline_ms, err);
}

struct display *display_open(int fd, const struct display_assist *assist, struct holds *holds,
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

/* Waits for a frame that shows everything drawn before since_ms. */
static struct display_frame *wait_frame(struct display *display, int64_t since_ms, int64_t deadline_ms,
                                        struct error *err)
{
    int64_t began_ms = clock_monotonic_ms();
    LOCK_SCOPE(&display->mutex);
    for (;;) {
        if (session_check(display, err) < 0)
            return NULL;
        if (display->frame && display->frame_ms >= since_ms)
            return frame_share(display->frame);
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

struct display_frame *display_capture(struct display *display, int64_t deadline_ms, struct error *err)
{
    return wait_frame(display, clock_monotonic_ms() - FRESH_SLACK_MS, deadline_ms, err);
}

/* Waits until the pixels are others than those of a frame, or for LOOK_MS. */
static void wait_change(struct display *display, uint64_t sequence, int64_t deadline_ms)
{
    int64_t until_ms = clock_deadline(LOOK_MS);
    if (until_ms > deadline_ms)
        until_ms = deadline_ms;
    LOCK_SCOPE(&display->mutex);
    while (display->sequence == sequence && !display->ended && display->state == SESSION_RUNNING)
        if (!sync_cond_wait(&display->changed, &display->mutex, until_ms))
            return;
}

struct display_frame *display_wait_drawn(struct display *display, uint32_t width, uint32_t height,
                                         int64_t deadline_ms, struct error *err)
{
    for (;;) {
        CLEANUP_FRAME struct display_frame *frame = display_capture(display, deadline_ms, err);
        if (!frame)
            return NULL;
        if (frame->width == width && frame->height == height && !display_frame_is_blank(frame))
            return TAKE(frame);
        if (clock_left_ms(deadline_ms) == 0) {
            error_set(err, ERROR_GUEST_FAILED,
                      "the guest has drawn nothing at %ux%u by the deadline; its screen is %ux%u%s", width,
                      height, frame->width, frame->height, display_frame_is_blank(frame) ? " and blank" : "");
            return NULL;
        }
        wait_change(display, frame->sequence, deadline_ms);
    }
}

/* Whether two frames differ in a region, or at all without one. */
static bool frames_differ(const struct display_frame *a, const struct display_frame *b,
                          const struct action *action)
{
    if (a->sequence == b->sequence)
        return false;
    if (a->width != b->width || a->height != b->height)
        return true;
    struct action_region region = {0, 0, (int32_t)a->width, (int32_t)a->height};
    if (action->has_region)
        region = action->region;
    for (int32_t y = region.y; y < region.y + region.height; y++) {
        if ((uint32_t)y >= a->height || (uint32_t)region.x >= a->width)
            break;
        uint32_t columns = a->width - (uint32_t)region.x;
        if (columns > (uint32_t)region.width)
            columns = (uint32_t)region.width;
        size_t start = (size_t)y * a->width + (size_t)region.x;
        if (memcmp(a->pixels + start, b->pixels + start, columns * sizeof(uint32_t)) != 0)
            return true;
    }
    return false;
}

int watch_wait(struct display *display, const struct action *action, struct cancel *cancel,
               int64_t deadline_ms, struct error *err)
{
    int64_t until_ms = clock_deadline(action->timeout_ms);
    if (until_ms > deadline_ms)
        until_ms = deadline_ms;
    CLEANUP_FRAME struct display_frame *last = wait_frame(display, clock_monotonic_ms(), until_ms, err);
    if (!last)
        return -1;
    int64_t still_ms = clock_monotonic_ms(); /* since when it has been */
    for (;;) {
        if (cancel_fired(cancel))
            return error_set(err, ERROR_CANCELLED, "the caller has gone, and the wait was given up");
        if (clock_left_ms(until_ms) == 0)
            return error_set(err, ERROR_TIMEOUT, "the screen %s by the time-out",
                             action->until == UNTIL_CHANGE ? "did not change" : "was not still");
        wait_change(display, last->sequence, until_ms);
        CLEANUP_FRAME struct display_frame *now = display_capture(display, clock_deadline(MUTE_MS), err);
        if (!now)
            return -1;
        if (frames_differ(last, now, action)) {
            if (action->until == UNTIL_CHANGE)
                return 0;
            still_ms = clock_monotonic_ms();
        }
        display_frame_release(last);
        last = TAKE(now);
        if (action->until == UNTIL_STILL && clock_monotonic_ms() - still_ms >= ACTION_STILL_MS)
            return 0;
    }
}
