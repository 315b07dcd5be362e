#include "display/rfb_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>

#include "base/clock.h"
#include "base/sync.h"
#include "display/region.h"
#include "display/rfb_client.h"

/* libvncclient waits with select(): a descriptor past its set would write outside of it. */
#define DESCRIPTOR_MAX FD_SETSIZE

/* How long an orderly end may take before the socket is cut. */
#define END_MS 500

/* What the thread alone knows. */
struct rfb_thread {
    struct session *session;
    struct rfb_client client;

    uint64_t sequence; /* grows with each change */
    int64_t change_ms; /* when the last one was seen */
    int64_t fresh_ms;  /* everything drawn before this is in the pixels */

    bool follow; /* the next change is to be asked for */
    bool asked;  /* QEMU is to send the next change by itself */
};

/*
 * A frame to be filled, and which part of it does not hold the present pixels yet. The one before the last is
 * used again where nobody looks at it any more: then only what has changed since has to be copied.
 */
static struct frame *take_frame(struct rfb_thread *thread, struct action_region *stale)
{
    struct session *session = thread->session;
    const struct canvas *canvas = &thread->client.canvas;
    struct frame *frame;
    *stale = region_whole(canvas->width, canvas->height);
    {
        LOCK_SCOPE(&session->mutex);
        frame = TAKE(session->spare);
        if (frame && frame->width == canvas->width && frame->height == canvas->height) {
            changes_since(&session->changes, frame->sequence, NULL, stale, NULL);
            *stale = region_clip(*stale, canvas->width, canvas->height);
            return frame;
        }
    }
    frame_release(frame);
    return frame_new(canvas->width, canvas->height);
}

/* Makes the frame that was asked for out of pixels that are whole and fresh. */
static bool publish_frame(struct rfb_thread *thread)
{
    struct session *session = thread->session;
    struct frame *frame = NULL;
    /* Only this thread replaces the frame, so it may be looked at without the lock. */
    if (!session->frame || session->frame->sequence != thread->sequence) {
        struct action_region stale;
        frame = take_frame(thread, &stale);
        if (!frame) {
            thread->client.broken = "there is no memory left for the picture";
            return false;
        }
        frame->sequence = thread->sequence;
        frame->time_ms = thread->change_ms;
        canvas_copy(&thread->client.canvas, stale, frame);
    }
    LOCK_SCOPE(&session->mutex);
    if (frame) {
        frame_release(session->spare);
        session->spare = frame_retire(session->frame);
        session->frame = frame;
    }
    session->frame_ms = thread->fresh_ms;
    pthread_cond_broadcast(&session->changed);
    return true;
}

/* What callers want, taken from the session at once. */
struct wants {
    unsigned char bytes[OUTBOX_SIZE]; /* to be sent */
    size_t size;
    bool stopping, frame, fence;
};

static void take_wants(struct rfb_thread *thread, struct wants *wants)
{
    struct session *session = thread->session;
    LOCK_SCOPE(&session->mutex);
    wants->size = session->outbox_size;
    memcpy(wants->bytes, session->outbox, session->outbox_size);
    session->outbox_size = 0;
    wants->stopping = session->stopping;
    bool waited = session->frame_ms < session->want_ms;
    wants->frame = waited && !thread->client.canvas.missing && thread->fresh_ms >= session->want_ms;
    wants->fence = (waited && !wants->frame) || session->seen_ms < session->want_seen_ms;
    thread->follow |= session->watchers > 0 || session->follow;
    session->follow = false;
}

/* Asks for the next change, unless that is under way. After a fence QEMU would take no notice of it: its
 * answer comes first. */
static bool follow_changes(struct rfb_thread *thread)
{
    if (!thread->follow || thread->asked || thread->client.fence_on)
        return true;
    thread->asked = true;
    thread->follow = false;
    return rfb_client_follow(&thread->client);
}

/* Sends what callers have put into the outbox and looks after what they want to see. False: leave. */
static bool serve_callers(struct rfb_thread *thread)
{
    struct wants wants;
    take_wants(thread, &wants);
    if (wants.size > 0 && !rfb_client_send(&thread->client, wants.bytes, wants.size))
        return false;
    if (wants.stopping || (wants.frame && !publish_frame(thread)))
        return false;
    if (wants.fence && !thread->client.fence_on && !rfb_client_fence(&thread->client))
        return false;
    return follow_changes(thread);
}

/* Takes into account what a message held: which pixels, how fresh they are, whether they changed anything. */
static bool note_pixels(struct rfb_thread *thread)
{
    const struct rfb_client *client = &thread->client;
    if (client->got_fence) /* the tick that sent it came after the kick, and brought all that had changed by
                              then */
        thread->fresh_ms = client->fence_ms;
    if (client->got_pixels || !(client->echo || client->resized))
        thread->asked = false; /* an update, be it an empty one, answers the request */
    bool changed = client->canvas.box_count > 0 && !client->canvas.missing;
    if (changed) {
        thread->sequence++;
        thread->change_ms = clock_monotonic_ms();
    }
    return changed;
}

/* Tells callers what a message held. The mutex is held. */
static void tell_session(struct rfb_thread *thread, bool changed)
{
    const struct rfb_client *client = &thread->client;
    struct session *session = thread->session;
    session->heard_ms = clock_monotonic_ms();
    session->width = client->canvas.width;
    session->height = client->canvas.height;
    session->sequence = thread->sequence;
    session->echoes += client->echo;
    bool chasing = client->echo && session->chased == session->echoes;
    if (chasing)
        session->chaser = session_post(session, NULL, 0, &(struct error)ERROR_INIT);
    if (client->resized)
        session->frame_ms = INT64_MIN; /* however fresh, it is of a screen that is no more */
    for (size_t i = 0; changed && i < client->canvas.box_count; i++)
        changes_add(&session->changes, thread->sequence, thread->change_ms, client->canvas.boxes[i]);
    bool seen = !client->canvas.missing && thread->fresh_ms > session->seen_ms;
    if (seen)
        session->seen_ms = thread->fresh_ms;
    if (changed || (client->echo && !chasing) || seen)
        pthread_cond_broadcast(&session->changed);
}

/* Reads one message. False: the session is over. */
static bool read_message(struct rfb_thread *thread)
{
    if (!rfb_client_read(&thread->client))
        return false;
    bool changed = note_pixels(thread);
    LOCK_SCOPE(&thread->session->mutex);
    tell_session(thread, changed);
    return true;
}

/* After the handshake. Returns when the session is over. */
static void serve_session(struct rfb_thread *thread)
{
    struct session *session = thread->session;
    while (serve_callers(thread)) {
        struct pollfd ready[2] = {{.fd = rfb_client_fd(&thread->client), .events = POLLIN},
                                  {.fd = session->wake_fd, .events = POLLIN}};
        bool ahead = rfb_client_is_ahead(&thread->client);
        if (!ahead && poll(ready, 2, -1) < 0 && errno != EINTR)
            return;
        if (ready[1].revents) {
            eventfd_t count;
            eventfd_read(session->wake_fd, &count);
        }
        if ((ahead || ready[0].revents) && !read_message(thread))
            return;
    }
}

/* Tells callers that the handshake is over. */
static void begin_session(struct rfb_thread *thread)
{
    LOCK_SCOPE(&thread->session->mutex);
    thread->session->state = SESSION_RUNNING;
    tell_session(thread, false);
    pthread_cond_broadcast(&thread->session->changed);
}

static void end_session(struct rfb_thread *thread, bool connected)
{
    const char *broken = thread->client.broken;
    LOCK_SCOPE(&thread->session->mutex);
    session_kill(thread->session,
                 broken      ? broken
                 : connected ? "QEMU closed the display's connection or stopped in the middle of a message"
                             : "the display does not answer as a VNC server does");
}

static void *run_thread(void *argument)
{
    struct session *session = argument;
    struct rfb_thread thread = {.session = session, .fresh_ms = INT64_MIN};
    /*
     * The ping at once, from this thread: the library has told QEMU that it can follow ExtendedDesktopSize,
     * which it cannot (LibVNC issue 640), and a mode change before this message would end the session.
     */
    bool connected = rfb_client_connect(&thread.client, TAKE_FD(session->socket_fd),
                                        (unsigned)session->handshake_s, MUTE_MS / 1000) &&
                     rfb_client_send(&thread.client, session_ping, SESSION_PING_SIZE);
    if (connected) {
        begin_session(&thread);
        serve_session(&thread);
    }
    end_session(&thread, connected);
    rfb_client_clear(&thread.client);
    return NULL;
}

/* Moves the descriptor below what select() can hold, makes it non-blocking, and takes a second one. */
static int take_descriptor(struct session *session, int fd, struct error *err)
{
    CLEANUP_CLOSE int owned = fd;
    if (owned >= DESCRIPTOR_MAX) {
        owned = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        int reason = errno;
        close(fd);
        if (owned < 0)
            return error_set_errno(err, ERROR_GUEST_FAILED, reason, "cannot take over the guest's display");
        if (owned >= DESCRIPTOR_MAX)
            return error_set(err, ERROR_GUEST_FAILED,
                             "cannot take over the guest's display: the node has %d files open, more than "
                             "its VNC library can work with; end leases or views",
                             owned);
    }
    int flags = fcntl(owned, F_GETFL);
    if (flags < 0 || fcntl(owned, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(owned, F_SETFD, FD_CLOEXEC) < 0)
        return error_set_errno(err, ERROR_GUEST_FAILED, errno,
                               "cannot set up the connection to the guest's display");
    session->control_fd = fcntl(owned, F_DUPFD_CLOEXEC, 3);
    session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (session->control_fd < 0 || session->wake_fd < 0)
        return error_set_errno(err, ERROR_GUEST_FAILED, errno,
                               "cannot set up the connection to the guest's display");
    session->socket_fd = TAKE_FD(owned);
    return 0;
}

/* Waits until QEMU has answered our own SetEncodings. */
static int await_opening(struct session *session, int64_t deadline_ms, struct error *err)
{
    LOCK_SCOPE(&session->mutex);
    while (session->state != SESSION_DEAD && session->echoes < OPENING_PINGS)
        if (!sync_cond_wait(&session->changed, &session->mutex, deadline_ms))
            session_kill(session, "it did not answer in time");
    return session_check(session, err);
}

int rfb_thread_start(struct session *session, int fd, int64_t timeout_ms, struct error *err)
{
    int64_t deadline_ms = clock_deadline(timeout_ms);
    session->handshake_s = timeout_ms < 0 || timeout_ms > 3600000 ? 3600 : (int)(timeout_ms / 1000) + 1;
    if (take_descriptor(session, fd, err) < 0)
        return -1;
    if (sync_thread_start(&session->thread, "display", run_thread, session, err) < 0)
        return -1;
    if (await_opening(session, deadline_ms, err) == 0)
        return 0;
    rfb_thread_stop(session);
    return error_prefix(err, "the guest's display cannot be opened");
}

void rfb_thread_stop(struct session *session)
{
    pthread_mutex_lock(&session->mutex);
    int64_t deadline_ms = clock_deadline(END_MS);
    while (session->state == SESSION_RUNNING && session->echoes < session->pings)
        if (!sync_cond_wait(&session->changed, &session->mutex, deadline_ms))
            break;
    session_kill(session, "it was closed");
    session->stopping = true;
    pthread_mutex_unlock(&session->mutex);
    pthread_join(session->thread, NULL);
}
