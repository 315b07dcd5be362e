/*
 * Theory of operation. The thread of the upgraded connection sleeps in poll() over three descriptors: the
 * WebSocket, QEMU's end, and an eventfd by which the viewer is told to go. Each direction holds one piece,
 * and a side is only read while what it said before has been passed on: so what a viewer does not take stays
 * in QEMU, which holds back a client that does not read (and nobody else), and what QEMU does not take stays
 * in the viewer's own socket. Memory is bounded by the struct of viewer_inside.h, a pipe, and the kernel's
 * socket buffers.
 *
 * From QEMU to the viewer bytes are not looked at, and do not pass through the node's memory: what QEMU has
 * said goes out as one binary frame (pour.c). Pings and pongs go between two frames.
 *
 * From the viewer to QEMU every byte passes frames.c and rfb_filter.c. Keys and buttons are noted in the
 * guest's holds. However the viewer ends, what it holds is released through its own connection; and since
 * QEMU throws away what it has not read from a connection that was closed, ours is first shut for writing
 * alone, and closed when QEMU has read to the end and closed its side. That releases every key of everybody
 * in QEMU, so holds.h says when it may be. (Input for a guest that is paused is lost in QEMU, a release too.)
 *
 * Nothing is timed but pings (20 s), a peer that is dead (60 s without a byte), and a frame that does not
 * move (30 s).
 */
#include "view/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "view/farewell.h"
#include "view/viewer_inside.h"

enum {
    PING_EVERY_MS = 20000,
    DEAD_MS = 60000,
    STALL_MS = 30000,
    VERDICT_MS = 1500,       /* after QEMU has closed: for the lease's end to say that it is the reason */
    SEND_BUFFER = 512 << 10, /* the kernel's; most allow less and take what they allow */
};

struct viewer *viewer_new(struct audience *audience, const char *grant, int socket, struct error *err)
{
    struct viewer *viewer = malloc(sizeof *viewer);
    if (!viewer) {
        error_set(err, ERROR_INTERNAL, "cannot take in another viewer: out of memory");
        return NULL;
    }
    memset(viewer, 0, offsetof(struct viewer, read)); /* the rest costs memory only once it is used */
    viewer->vnc_fd = -1;
    if (pour_open(&viewer->pour, err) < 0) {
        free(viewer);
        return NULL;
    }
    if (audience_join(audience, &viewer->seat, grant, socket, err) < 0) {
        pour_free(&viewer->pour);
        free(viewer);
        return NULL;
    }
    viewer->frames = frames_new();
    return viewer;
}

static bool note_key(void *context, uint32_t key, bool down)
{
    const struct viewer *viewer = context;
    return holds_key(viewer->holder, key, down);
}

static void note_pointer(void *context, uint16_t x, uint16_t y, uint8_t buttons)
{
    const struct viewer *viewer = context;
    holds_pointer(viewer->holder, x, y, buttons);
}

void viewer_connect(struct viewer *viewer, int vnc_fd, bool watch, const struct view_options *options)
{
    const struct rfb_hooks hooks = {.context = viewer, .key = note_key, .pointer = note_pointer};
    fcntl(vnc_fd, F_SETFL, fcntl(vnc_fd, F_GETFL) | O_NONBLOCK);
    viewer->vnc_fd = vnc_fd;
    viewer->watch = watch;
    viewer->options = options;
    viewer->holds = options->holds;
    viewer->holder = holds_join(options->holds);
    rfb_filter_start(&viewer->filter, watch, &hooks);
}

/* --- ending ---------------------------------------------------------------------------------------- */

static void end_viewer(struct viewer *viewer, enum close_code code, const char *reason)
{
    if (viewer->over)
        return;
    viewer->over = true;
    viewer->code = code;
    viewer->reason = reason;
}

/* The peer has gone without a word, or cannot be reached. */
static void end_silently(struct viewer *viewer)
{
    viewer->mute = true;
    end_viewer(viewer, CLOSE_NONE, "the connection was lost");
}

/* --- the peer's messages --------------------------------------------------------------------------- */

static void take_data(struct viewer *viewer, const struct frames_item *item)
{
    struct rfb_fault fault;
    viewer->up_end +=
        rfb_filter_run(&viewer->filter, item->data, item->size, viewer->up + viewer->up_end, &fault);
    if (fault.code != CLOSE_NONE)
        end_viewer(viewer, fault.code, fault.reason);
}

static void take_bytes(struct viewer *viewer, const uint8_t *bytes, size_t size)
{
    frames_feed(viewer->frames, bytes, size);
    for (;;) {
        struct frames_item item = frames_next(viewer->frames);
        switch (item.kind) {
        case FRAMES_MORE:
            return;
        case FRAMES_DATA:
            take_data(viewer, &item);
            break;
        case FRAMES_PING: /* of several that wait the last is answered (RFC 6455 section 5.5.3) */
            memcpy(viewer->pong, item.data, item.size);
            viewer->pong_size = item.size;
            viewer->pong_due = true;
            break;
        case FRAMES_PONG:
            break;
        case FRAMES_CLOSE:
            end_viewer(viewer, item.code, "");
            break;
        case FRAMES_FAULT:
            end_viewer(viewer, item.code, item.reason);
            break;
        }
    }
}

static void read_peer(struct viewer *viewer)
{
    ssize_t got = recv(viewer->socket, viewer->read, sizeof viewer->read, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        end_silently(viewer);
    if (got <= 0)
        return;
    viewer->heard_ms = clock_monotonic_ms();
    take_bytes(viewer, viewer->read, (size_t)got);
}

/* --- moving bytes ---------------------------------------------------------------------------------- */

static void check_told(struct viewer *viewer)
{
    const char *reason;
    enum close_code told = audience_told(&viewer->seat, &reason);
    if (told != CLOSE_NONE)
        end_viewer(viewer, told, reason);
}

static void display_closed(struct viewer *viewer)
{
    /* The end of the lease takes the display away too, and is the better thing to say. */
    viewer_wait(viewer->seat.wake_fd, POLLIN, clock_deadline(VERDICT_MS));
    check_told(viewer);
    end_viewer(viewer, CLOSE_DISPLAY_LOST, "the guest's display is lost");
}

static void send_up(struct viewer *viewer)
{
    while (viewer->up_at < viewer->up_end) {
        ssize_t sent = send(viewer->vnc_fd, viewer->up + viewer->up_at, viewer->up_end - viewer->up_at,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno != EAGAIN && errno != EINTR)
                display_closed(viewer);
            return;
        }
        viewer->up_at += (size_t)sent;
    }
    viewer->up_at = viewer->up_end = 0;
}

static void send_down(struct viewer *viewer)
{
    ssize_t sent = pour_send(&viewer->pour, viewer->socket);
    if (sent < 0)
        end_silently(viewer);
    if (sent > 0)
        viewer->moved_ms = clock_monotonic_ms();
}

/* A frame was given to the pour. */
static void send_begun(struct viewer *viewer)
{
    viewer->moved_ms = clock_monotonic_ms();
    send_down(viewer);
}

static void read_display(struct viewer *viewer)
{
    enum pour_taken taken = pour_take(&viewer->pour, viewer->vnc_fd);
    if (taken == POUR_SOME)
        send_begun(viewer);
    else if (taken == POUR_ENDED)
        display_closed(viewer);
}

static void send_control(struct viewer *viewer)
{
    if (viewer->pong_due && pour_idle(&viewer->pour)) {
        viewer->pong_due = false;
        pour_control(&viewer->pour, FRAME_PONG, viewer->pong, viewer->pong_size);
        send_begun(viewer);
    }
    if (viewer->ping_due && pour_idle(&viewer->pour)) {
        viewer->ping_due = false;
        pour_control(&viewer->pour, FRAME_PING, viewer->pong, 0);
        send_begun(viewer);
    }
}

/* Looks at the clock; returns when to look again. */
static int64_t keep_time(struct viewer *viewer)
{
    int64_t now_ms = clock_monotonic_ms();
    bool blocked = !pour_idle(&viewer->pour), listening = viewer->up_end == 0;
    if (blocked && now_ms - viewer->moved_ms >= STALL_MS)
        end_viewer(viewer, CLOSE_SLOW, "this viewer read too slowly");
    if (listening && now_ms - viewer->heard_ms >= DEAD_MS)
        end_silently(viewer);
    if (now_ms >= viewer->ping_ms) {
        viewer->ping_due = true;
        viewer->ping_ms = now_ms + PING_EVERY_MS;
    }
    int64_t stall_ms = viewer->moved_ms + STALL_MS;
    return blocked && stall_ms < viewer->ping_ms ? stall_ms : viewer->ping_ms;
}

static void pump_bytes(struct viewer *viewer)
{
    while (!viewer->over) {
        int64_t next_ms = keep_time(viewer);
        send_control(viewer);
        if (viewer->over)
            return;
        bool down = !pour_idle(&viewer->pour), up = viewer->up_end > 0;
        struct pollfd ready[] = {
            {.fd = viewer->socket, .events = (short)((up ? POLLRDHUP : POLLIN) | (down ? POLLOUT : 0))},
            {.fd = down && viewer->hung_up ? -1 : viewer->vnc_fd,
             .events = (short)((down ? 0 : POLLIN) | (up ? POLLOUT : 0))},
            {.fd = viewer->seat.wake_fd, .events = POLLIN},
        };
        if (poll(ready, 3, clock_left_ms(next_ms)) <= 0)
            continue;
        short lost = POLLHUP | POLLERR | POLLNVAL;
        if (ready[2].revents)
            check_told(viewer);
        viewer->hung_up = viewer->hung_up || ready[1].revents & lost;
        if (ready[0].revents & (POLLIN | lost) && !up)
            read_peer(viewer);
        if (ready[0].revents & (POLLRDHUP | lost) && up)
            end_silently(viewer);
        if (!viewer->over && ready[0].revents & POLLOUT)
            send_down(viewer);
        if (!viewer->over && viewer->up_end > 0)
            send_up(viewer);
        if (!viewer->over && ready[1].revents & (POLLIN | lost) && pour_idle(&viewer->pour))
            read_display(viewer);
    }
}

static void tell_witness(const struct viewer *viewer, const char *reason)
{
    const struct view_options *options = viewer->options;
    if (options->witness)
        options->witness(options->context, viewer->seat.grant, viewer->watch ? VIEW_WATCH : VIEW_CONTROL,
                         reason);
}

/*
 * What a viewer holds down is released first, for others act on that guest. Where everybody is told to go the
 * guest goes too, or is paused, and the time is short: then the word comes first.
 */
static void leave_both(struct viewer *viewer)
{
    bool told = viewer->code == CLOSE_LEASE_ENDED || viewer->code == CLOSE_NODE_STOPPING;
    if (told)
        viewer_say_goodbye(viewer);
    viewer_leave_guest(viewer);
    if (!told)
        viewer_say_goodbye(viewer);
}

void viewer_run(struct viewer *viewer, int socket, const char *early, size_t early_size)
{
    int on = 1, send_buffer = SEND_BUFFER;
    viewer->socket = socket;
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK); /* splice() has no flag for it */
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    viewer->heard_ms = viewer->moved_ms = clock_monotonic_ms();
    viewer->ping_ms = viewer->heard_ms + PING_EVERY_MS;
    for (size_t part; early_size > 0 && !viewer->over; early += part, early_size -= part) {
        part = early_size < READ_SIZE ? early_size : READ_SIZE;
        take_bytes(viewer, (const uint8_t *)early, part);
        send_up(viewer);
        if (viewer->up_end > 0) /* the handshake of RFB is small, and QEMU has only just begun to listen */
            end_viewer(viewer, CLOSE_PROTOCOL, "too much was said before the handshake");
    }
    tell_witness(viewer, NULL);
    pump_bytes(viewer);
    log_debug("view", "a viewer ends: %s (%d)", viewer->reason, (int)viewer->code);
    leave_both(viewer);
    tell_witness(viewer, viewer->reason ? viewer->reason : "the connection ended");
}

void viewer_free(struct viewer *viewer)
{
    if (viewer->holder)
        holds_leave(viewer->holder);
    if (viewer->vnc_fd >= 0 && holds_shut(viewer->holds, viewer->vnc_fd))
        close(viewer->vnc_fd);
    audience_leave(&viewer->seat);
    frames_free(viewer->frames);
    pour_free(&viewer->pour);
    free(viewer);
}
