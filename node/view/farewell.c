#include "view/farewell.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "view/viewer_inside.h"

enum {
    RELEASE_MS =
        5000, /* for QEMU to read what releases keys and buttons: it never lifts a button by itself */
    RELEASE_LAST_MS = 500, /* the same once everybody is told to go: the guest goes too, or is paused */
    GOODBYE_MS = 500,      /* for the close frame to go out, and again for the peer to answer it */
    LINGER_MS = 10000,     /* the same for one that was too slow, while nobody waits for it to be gone */
};

bool viewer_wait(int fd, short events, int64_t deadline_ms)
{
    struct pollfd ready = {.fd = fd, .events = events};
    int count;
    do
        count = poll(&ready, 1, clock_left_ms(deadline_ms));
    while (count < 0 && errno == EINTR);
    return count > 0;
}

/*
 * What the viewer's guest may still take: so long, and no more than RELEASE_LAST_MS from when the viewer is
 * told to go, which may come while it goes already.
 */
struct leave {
    struct viewer *viewer;
    int64_t deadline_ms;
    bool told;
};

/* Waits for QEMU's side (events 0: for time to pass), until a time or the deadline. False when that has come.
 */
static bool wait_for_guest(struct leave *leave, short events, int64_t until_ms)
{
    for (;;) {
        struct pollfd ready[] = {{.fd = events ? leave->viewer->vnc_fd : -1, .events = events},
                                 {.fd = leave->told ? -1 : leave->viewer->seat.wake_fd, .events = POLLIN}};
        int64_t next_ms = until_ms < leave->deadline_ms ? until_ms : leave->deadline_ms;
        if (poll(ready, 2, clock_left_ms(next_ms)) == 0)
            return next_ms < leave->deadline_ms;
        if (ready[1].revents) {
            int64_t soon_ms = clock_deadline(RELEASE_LAST_MS);
            leave->told = true;
            leave->deadline_ms = soon_ms < leave->deadline_ms ? soon_ms : leave->deadline_ms;
        }
        if (ready[0].revents)
            return true;
    }
}

/* Sends all, waiting where it must; false when the deadline has passed or the other side is gone. */
static bool send_all(struct leave *leave, const uint8_t *bytes, size_t size)
{
    int fd = leave->viewer->vnc_fd;
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (sent < 0 && !wait_for_guest(leave, POLLOUT, CLOCK_NEVER))
            return false;
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

/*
 * Writes what releases everything the viewer holds; returns its length. Also what another holds too: of two
 * that are cut off together each would else leave it to the other.
 */
static size_t write_release(struct viewer *viewer, uint8_t *message)
{
    uint32_t keys[HOLDS_KEYS_MAX];
    uint8_t buttons;
    int32_t x, y;
    size_t size = 0, count = holds_mine(viewer->holder, keys, &buttons);
    while (count > 0) /* the last pressed first, as fingers do */
        size += rfb_write_key_up(message + size, keys[--count]);
    if (buttons && holds_position(viewer->holds, &x, &y))
        size += rfb_write_pointer(message + size, (uint16_t)x, (uint16_t)y, 0);
    return size;
}

/* Sends QEMU what it has not taken yet, the rest of a text that was cut off, and the releases. */
static bool send_last(struct leave *leave)
{
    struct viewer *viewer = leave->viewer;
    static const uint8_t nothing[4096];
    uint8_t release[HOLDS_KEYS_MAX * RFB_KEY_SIZE + RFB_POINTER_SIZE];
    if (!send_all(leave, viewer->up + viewer->up_at, viewer->up_end - viewer->up_at))
        return false;
    for (size_t owed = rfb_filter_owed(&viewer->filter), part; owed > 0; owed -= part) {
        part = owed < sizeof nothing ? owed : sizeof nothing;
        if (!send_all(leave, nothing, part))
            return false;
    }
    return send_all(leave, release, write_release(viewer, release));
}

/*
 * Waits until QEMU has read all that was sent: what it has not read of a connection that ends is thrown away.
 * Nothing wakes us when it has, so we look, at growing intervals; in the usual case the second look is the
 * last.
 */
static void await_reading(struct leave *leave)
{
    int unread;
    for (int64_t pause_ms = 1; ioctl(leave->viewer->vnc_fd, SIOCOUTQ, &unread) == 0 && unread > 0;
         pause_ms *= 2)
        if (!wait_for_guest(leave, 0, clock_deadline(pause_ms)))
            return;
}

/* Waits for more of what the peer says and reads it; 0 once it has ended, or at the deadline. */
static size_t read_rest(struct viewer *viewer, int64_t deadline_ms)
{
    do {
        ssize_t got = recv(viewer->socket, viewer->read, sizeof viewer->read, MSG_DONTWAIT);
        if (got >= 0)
            return (size_t)got;
        if (errno != EAGAIN && errno != EINTR)
            return 0;
    } while (viewer_wait(viewer->socket, POLLIN, deadline_ms));
    return 0;
}

/* What QEMU still says is of no use; that it closes its side tells that it has noticed. */
static void await_end(struct leave *leave)
{
    struct viewer *viewer = leave->viewer;
    for (;;) {
        ssize_t got = recv(viewer->vnc_fd, viewer->read, sizeof viewer->read, MSG_DONTWAIT);
        bool wait = got < 0 && (errno == EAGAIN || errno == EINTR);
        if ((!wait && got <= 0) || (wait && !wait_for_guest(leave, POLLIN, CLOCK_NEVER)))
            return;
    }
}

void viewer_leave_guest(struct viewer *viewer)
{
    struct leave leave = {.viewer = viewer, .deadline_ms = clock_deadline(RELEASE_MS)};
    bool sent = send_last(&leave);
    if (sent)
        await_reading(&leave);
    holds_leave(TAKE(viewer->holder));
    if (!holds_shut(viewer->holds, viewer->vnc_fd))
        viewer->vnc_fd = -1; /* it ends once the node's own session has no key down */
    else if (sent)
        await_end(&leave);
    cleanup_close(&viewer->vnc_fd);
    viewer->vnc_fd = -1;
    audience_vacate(&viewer->seat);
}

/* Reads and forgets what the peer sends, until its close frame, its end or the deadline. */
static void await_goodbye(struct viewer *viewer, int64_t deadline_ms)
{
    for (size_t got; (got = read_rest(viewer, deadline_ms)) > 0;) {
        struct frames_item item;
        frames_feed(viewer->frames, viewer->read, got);
        do
            item = frames_next(viewer->frames);
        while (item.kind != FRAMES_MORE && item.kind != FRAMES_CLOSE && item.kind != FRAMES_FAULT);
        if (item.kind == FRAMES_CLOSE || clock_left_ms(deadline_ms) == 0)
            return;
    }
}

/* Sends the frame under way as send_all() would; but once the viewer is told to go as well, no longer than
 * GOODBYE_MS from then. */
static bool send_patiently(struct viewer *viewer, int64_t deadline_ms)
{
    struct pollfd ready[] = {{.fd = viewer->socket, .events = POLLOUT},
                             {.fd = viewer->seat.wake_fd, .events = POLLIN}};
    for (;;) {
        if (pour_send(&viewer->pour, viewer->socket) < 0)
            return false;
        if (pour_idle(&viewer->pour))
            return true;
        if (poll(ready, 2, clock_left_ms(deadline_ms)) == 0)
            return false;
        if (ready[1].revents) {
            int64_t soon_ms = clock_deadline(GOODBYE_MS);
            deadline_ms = soon_ms < deadline_ms ? soon_ms : deadline_ms;
            ready[1].fd = -1;
        }
    }
}

/*
 * Finishes the frame that is under way, since a close frame cannot stand inside one, closes (RFC 6455 section
 * 7.1.1: the server first), and reads what is left so that the kernel does not answer it with a reset, which
 * would overtake the close frame.
 */
void viewer_say_goodbye(struct viewer *viewer)
{
    if (viewer->mute)
        return;
    int64_t deadline_ms = clock_deadline(viewer->code == CLOSE_SLOW ? LINGER_MS : GOODBYE_MS);
    if (!send_patiently(viewer, deadline_ms))
        return;
    pour_goodbye(&viewer->pour, viewer->code == CLOSE_NO_CODE ? CLOSE_NORMAL : viewer->code, viewer->reason);
    if (!send_patiently(viewer, deadline_ms))
        return;
    shutdown(viewer->socket, SHUT_WR);
    await_goodbye(viewer, clock_deadline(GOODBYE_MS));
}
