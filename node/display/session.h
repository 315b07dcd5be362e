/*
 * What the thread of the RFB client (rfb_thread.c) and those who decide (all other files) share of a guest's
 * display. Private to display/.
 *
 * Theory of operation. One thread owns the RFB client and is the only one that reads or writes the socket.
 * Callers put bytes into the outbox, say how fresh a frame they want, and wait on one condition; an eventfd
 * wakes the thread. The thread sleeps in poll() without a time-out: deadlines belong to those who wait, so a
 * session that nobody asks makes no wake-ups of its own. The thread knows nothing of pictures, actions or
 * deadlines, and callers nothing of the socket: what passes between them is all in struct session.
 *
 * Freshness. QEMU compares the screen at ticks of 30 ms to 3 s, the further apart the longer it is still, and
 * pixels only leave at a tick. A fence makes a tick happen now: an empty ClientCutText (any message of type
 * above 3 resets the interval, this one has no effect on a guest without a clipboard agent), then a
 * non-incremental request of one pixel. When that pixel has arrived, so has everything else that had changed
 * before the fence was sent. Counting finished updates would not do: QEMU answers a request at once with
 * pseudo-rectangles.
 *
 * Changes. Pixels are only sent when asked for. Input asks for the next change, and those who wait for a
 * change or for stillness (watch.c) keep such a request under way and send a fence every WATCH_MS, so that a
 * change is seen within that time and stillness is known, not guessed. Nobody waiting, nothing is sent.
 *
 * Echoes. SetEncodings that lists the QEMU extended key event is answered at once by a rectangle of that
 * encoding, so it is used as a ping: when the echo is back, QEMU has processed every message before it.
 *
 * Lock order: under the session's mutex only those of its holds (holds.h) and of its cancel are taken.
 */
#ifndef BERTHOS_DISPLAY_SESSION_H
#define BERTHOS_DISPLAY_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "display/changes.h"
#include "display/frame.h"

/* Of the 100 ms that a picture may lag behind: how old a frame may be that is given out again. The rest is
 * for the guest's drawing to reach QEMU. */
#define FRESH_SLACK_MS 60

/* QEMU that owes an answer for this long is given up, and the session with it. */
#define MUTE_MS 5000

#define OUTBOX_SIZE 4096

/* SetEncodings: raw, DesktopSize, QEMU extended key event. RFC 6143 section 7.5.2; the last one is QEMU's. */
#define SESSION_PING_SIZE 16
extern const unsigned char session_ping[SESSION_PING_SIZE];

/* Sent while a session opens: libvncclient's own SetEncodings, which lists the key event too, and ours at
 * once. */
#define OPENING_PINGS 2

enum session_state { SESSION_OPENING, SESSION_RUNNING, SESSION_DEAD };

struct session {
    pthread_mutex_t mutex;  /* guards all below up to the mark */
    pthread_cond_t changed; /* something below has changed */

    enum session_state state;
    bool ended;       /* display_shutdown() was called */
    bool stopping;    /* the thread is to leave */
    char reason[256]; /* why the session is dead: the end of a sentence */
    int64_t heard_ms; /* when QEMU last sent anything, monotonic */

    unsigned char outbox[OUTBOX_SIZE]; /* what the thread is to send */
    size_t outbox_size;
    uint64_t pings, echoes; /* sent or waiting in the outbox; come back */
    uint64_t chased;        /* the thread sends another ping when the echo of this one comes; 0: none */
    uint64_t chaser;        /* that other one, once it is sent */

    uint32_t width, height; /* of the screen now */
    uint64_t sequence;      /* of the pixels that the thread holds */
    int64_t want_ms;        /* somebody waits for a frame at least this fresh */
    struct frame *frame;    /* the last one made; holds one reference */
    struct frame *spare;    /* the one before it, where nobody holds it; its pixels may be written */
    int64_t frame_ms;       /* it shows everything drawn before this */

    struct changes changes; /* what the thread has seen to change */
    int64_t seen_ms;        /* everything drawn before this has been seen */
    int64_t want_seen_ms;   /* somebody waits to have seen this much */
    int64_t owed_ms;        /* since when that has not come */
    int watchers;           /* how many wait for a change or for stillness */
    bool follow;            /* input went out: the thread is to ask for the next change */
    int64_t acted_ms;       /* when input last went out, monotonic */
    /* end of what the mutex guards */

    pthread_t thread;
    int wake_fd;     /* eventfd that wakes the thread */
    int socket_fd;   /* handed to the thread's client; -1 afterwards */
    int control_fd;  /* a second descriptor of the socket, to cut it off from outside the thread */
    int handshake_s; /* read time-out of the handshake, whole seconds */
};

/* Sets one up without a connection, and frees what it owns. */
void session_init(struct session *session);
void session_clear(struct session *session);

/* Wakes the thread. */
void session_wake(struct session *session);

/* Marks the session dead and cuts the socket. The mutex is held. */
void session_kill(struct session *session, const char *reason);

/* Sets *err and returns -1 when the session has ended or is dead. The mutex is held. */
int session_check(const struct session *session, struct error *err);

/* The same, and when a caller has given up (cancel may be NULL). */
int session_check_wanted(const struct session *session, const struct cancel *cancel, struct error *err);

/*
 * Puts bytes into the outbox, and a ping after them. The mutex is held. Returns the number of the ping
 * (session->echoes reaches it when QEMU has processed the bytes), or 0 with *err.
 */
uint64_t session_post(struct session *session, const unsigned char *bytes, size_t size, struct error *err);

/* Kills a session whose QEMU owes an answer since `since_ms` and has been silent for MUTE_MS. The mutex is
 * held. */
void session_kill_mute(struct session *session, int64_t since_ms);

/* What a passed deadline means for what QEMU owes since `since_ms`: ERROR_GUEST_FAILED, maybe with a dead
 * session. The mutex is held. Returns -1. */
int session_late(struct session *session, int64_t since_ms, struct error *err);

/* Waits on `changed` until a monotonic time in microseconds at most. The mutex is held. */
void session_sleep_until(struct session *session, int64_t until_us);

/* Waits for a frame that shows everything drawn before since_ms. The mutex is held. *Borrowed* until it is
 * let go. NULL with ERROR_CANCELLED or as display_capture(). */
struct frame *session_frame(struct session *session, int64_t since_ms, struct cancel *cancel,
                            int64_t deadline_ms, struct error *err);

#endif
