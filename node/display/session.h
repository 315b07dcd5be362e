/*
 * The inside of a display session, shared by the files of display/ alone.
 *
 * Theory of operation. One thread (rfb.c) owns the libvncclient client and is the only one that reads or
 * writes the socket. Callers put bytes into the outbox, say how fresh a frame they want, and wait on one
 * condition; an eventfd wakes the thread. The thread sleeps in poll() without a time-out: deadlines belong to
 * those who wait, so a session that nobody asks makes no wake-ups of its own.
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

#include "display/changes.h"
#include "display/display.h"
#include "display/hands.h"

/* Of the 100 ms that a picture may lag behind: how old a frame may be that is given out again. The rest is
 * for the guest's drawing to reach QEMU. */
#define FRESH_SLACK_MS 60

/* While somebody waits for changes or stillness, QEMU is asked at least so often whether there is more. */
#define WATCH_MS 100

/* QEMU that owes an answer for this long is given up, and the session with it. */
#define MUTE_MS 5000

/* Bounds of what QEMU may send: its own VNC server stops at 5120 x 2160. */
#define EDGE_MAX   8192
#define PIXELS_MAX (16u << 20)

#define OUTBOX_SIZE 4096

/* SetEncodings: raw, DesktopSize, QEMU extended key event. RFC 6143 section 7.5.2; the last one is QEMU's. */
#define SESSION_PING_SIZE 16
extern const unsigned char session_ping[SESSION_PING_SIZE];

/* Sent while a session opens: libvncclient's own SetEncodings, which lists the key event too, and ours at
 * once. */
#define OPENING_PINGS 2

enum session_state { SESSION_OPENING, SESSION_RUNNING, SESSION_DEAD };

struct display {
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

    pthread_cond_t developed; /* something about shots or makers has changed */
    struct shot *shots;       /* pictures of the present frame, the last used first; look.c */
    struct maker *makers;     /* who makes one now, and who waits to, in order */
    unsigned char *secret;    /* keys the pictures' names; etag.c */

    struct hands hands;
    /* end of what the mutex guards */

    pthread_t thread;
    int wake_fd;     /* eventfd that wakes the thread */
    int socket_fd;   /* handed to the thread's client; -1 afterwards */
    int control_fd;  /* a second descriptor of the socket, to cut it off from outside the thread */
    int handshake_s; /* read time-out of the handshake, whole seconds */
};

/* The thread. argument: the struct display. */
void *rfb_run(void *argument);

/* Wakes the thread. */
void session_wake(struct display *display);

/* Marks the session dead and cuts the socket. The mutex is held. */
void session_kill(struct display *display, const char *reason);

/* Sets *err and returns -1 when the session has ended or is dead. The mutex is held. */
int session_check(const struct display *display, struct error *err);

/*
 * Puts bytes into the outbox, and a ping after them. The mutex is held. Returns the number of the ping
 * (display->echoes reaches it when QEMU has processed the bytes), or 0 with *err.
 */
uint64_t session_post(struct display *display, const unsigned char *bytes, size_t size, struct error *err);

/* Waits for the echo of a ping. The mutex is held. Errors: as session_check(), and those of a passed
 * deadline (session_late()). */
int session_await(struct display *display, uint64_t ping, int64_t deadline_ms, struct error *err);

/*
 * What a passed deadline means: ERROR_GUEST_FAILED and a dead session when QEMU has been silent since
 * `since_ms` and for MUTE_MS at least, else the given code. The mutex is held. Returns -1.
 */
int session_late(struct display *display, int64_t since_ms, enum error_code code, struct error *err);

/* Waits on `changed` until a monotonic time in microseconds at most. The mutex is held. */
void session_sleep_until(struct display *display, int64_t until_us);

/* Waits for a frame that shows everything drawn before since_ms. The mutex is held. *Borrowed* until it is
 * let go. NULL with ERROR_CANCELLED or as display_capture(). */
struct frame *session_frame(struct display *display, int64_t since_ms, struct cancel *cancel,
                            int64_t deadline_ms, struct error *err);

/* Whether a caller has given up (cancel may be NULL); *err then says so. */
bool session_cancelled(const struct cancel *cancel, struct error *err);

/* Wakes everybody who waits in the session; for cancel_listen(), with the session as context. */
void session_stir(void *display);

/* A frame without content and with one reference; NULL when memory is gone. *Owned*. */
struct frame *frame_new(uint32_t width, uint32_t height);

/* Another reference. */
struct frame *frame_share(struct frame *frame);

/* Gives up the session's reference to a frame (may be NULL). Returns the frame, now *owned* and writable,
 * when that was the last one, else NULL. */
struct frame *frame_retire(struct frame *frame);

/* A frame of a canvas's pixels, whose sequence number and time are given; NULL when memory is gone. For the
 * thread, without the mutex. *Owned*. */
struct canvas;
struct frame *frame_copy(struct display *display, const struct canvas *canvas, uint64_t sequence,
                         int64_t time_ms);

/* The pictures that are kept: set up, forgotten when the frame has changed (the mutex is held), freed. */
void shots_open(struct display *display);
void shots_forget(struct display *display);
void shots_close(struct display *display);

/*
 * Waits for a picture that has changed since now, or for one that stays still (action.h). No lock is held.
 * cancel may be NULL; who passes one has it stir the session. Errors: ERROR_TIMEOUT, ERROR_CANCELLED, and as
 * display_capture().
 */
int watch_wait(struct display *display, const struct action *action, struct cancel *cancel,
               int64_t deadline_ms, struct error *err);

/* Waits until the screen has changed after its pixels had a sequence number. 1 when the deadline came first.
 * No lock is held. Errors as display_capture(). */
int watch_since(struct display *display, uint64_t since, int64_t deadline_ms, struct error *err);

/*
 * Waits until the screen, or a region of it, has been still for still_ms, counted from the last change or the
 * last input at the earliest, and says up to when everything has been seen. *still is false when the deadline
 * came first. No lock is held. Errors: ERROR_CANCELLED, and as display_capture().
 */
int watch_still(struct display *display, const struct action_region *region, int64_t still_ms,
                struct cancel *cancel, int64_t deadline_ms, bool *still, int64_t *seen_ms, struct error *err);

#endif
