/*
 * Turns at a guest's input: callers perform one after the other, in the order they came, and whoever waits
 * while it is his turn notices that he must give up. Private to display/. The session's mutex is held at all
 * calls.
 */
#ifndef BERTHOS_DISPLAY_TURN_H
#define BERTHOS_DISPLAY_TURN_H

#include <pthread.h>

#include "display/input_state.h"

#define KEYS_CHUNK 8 /* key events that are posted together */

/* A key event that is not posted yet. */
struct turn_key {
    uint8_t scancode;
    bool down;
    bool lift;   /* releases what another party holds */
    bool enters; /* with it a character of a text is in the guest */
};

/* A question to the guest's agent under way, on a thread of its own; proof.c. The session's mutex guards all.
 */
struct turn_question {
    pthread_t thread;
    bool asked;    /* the thread is to be joined */
    bool answered; /* it has come back */
    uint64_t keys; /* what a good answer proves to be taken */
    uint64_t moves;
    int result;
    struct error err;
};

/* One display_perform() under way; on its caller's stack. */
struct turn {
    struct turn *next; /* of the queue */
    struct input_state *input;
    struct session *session;
    struct cancel *cancel; /* the caller's; may be NULL */
    int64_t deadline_ms;
    uint32_t frame_width, frame_height; /* the screen that the coordinates refer to; 0: the present one */
    uint32_t width, height;             /* of the screen, as it was when the action began */
    size_t done;                        /* how many actions were performed whole */
    struct turn_key chunk[KEYS_CHUNK];
    size_t chunk_count;
    size_t typed; /* characters of the present text that have been sent */
    struct turn_question question;
};

/* How many wait for their turn, beside the one who performs; each holds a thread of the server. */
#define TURN_WAITERS_MAX 8

/*
 * Waits for one's turn. -1 also when it has come and is of no use any more, and at once with ERROR_TOO_MANY
 * when TURN_WAITERS_MAX wait already; turn_leave() in any case.
 */
int turn_take(struct turn *turn, struct error *err);
void turn_leave(struct turn *turn);

/* Why the one who performs must give up: the session's end, the caller's, a paused guest. */
int turn_check(const struct turn *turn, struct error *err);

/* The same without the pause, for what is no input. */
int turn_check_wanted(const struct turn *turn, struct error *err);

/* Waits until a monotonic time. `input`: the guest must run all the while. */
int turn_hold_until(struct turn *turn, int64_t until_us, bool input, struct error *err);

/* Waits until QEMU has processed everything up to a ping of session_post(). */
int turn_await(struct turn *turn, uint64_t ping, struct error *err);

#endif
