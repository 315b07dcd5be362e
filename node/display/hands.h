/*
 * The hands of a session: what reaches the guest's keyboard and pointer, in which order and at which pace.
 * Private to display/.
 *
 * Theory of operation. Two queues lie between a message of ours and the guest, and both lose silently what
 * does not fit.
 *
 * QEMU's own queue holds each key event back for 10 ms behind the one before (key-delay-ms) and takes some
 * 340. Pointer messages do not pass through it. What it has delivered is not reckoned by the clock, for its
 * main loop can stand on a busy host, but proven by pings (session.h): a round of that loop reads messages
 * and then runs timers, so when a ping that was sent after the echo of another one comes back, every timer
 * that had run out when that other one was sent has been served. One event goes out with each turn of the
 * timer, which is then set to 10 ms from there: 10 ms after the proof at the latest the next one is due.
 *
 * The ring of each virtio input device holds 64 entries: 32 key events (a key and a SYN), or 16 pointer
 * messages (two axes, a button, a SYN), and what the kernel keeps for its reader is no larger. It empties
 * when the guest runs, and a virtual CPU can stand for seconds on a busy host. No VNC client can see that,
 * but the guest's agent can be asked: the images serve the interrupts of input and of the agent on one CPU,
 * and read input there, so an answer to a question that was sent after an event was delivered proves that the
 * guest has it. So at most KEYS_WINDOW key events and MOVES_WINDOW pointer messages are ever under way
 * unproven; the rest of a ring is for what releases, and for viewers. The agent is asked on a thread of its
 * own while more keys go out, so typing does not wait for it. Keys and pointer are two devices, which the
 * guest reads in no set order: neither goes out while something of the other is unproven. Without an agent
 * (display_helper.confirm) what was delivered counts as taken.
 *
 * A paused guest gets nothing: QEMU throws input away then. What is held down is released when it runs again.
 */
#ifndef BERTHOS_DISPLAY_HANDS_H
#define BERTHOS_DISPLAY_HANDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "display/display.h"
#include "display/holds.h"
#include "protocol/action.h"

#define KEYS_WINDOW  26
#define KEYS_CHUNK   8     /* key events that are posted together */
#define KEY_US       10000 /* for which QEMU holds a key event back behind the one before */
#define MOVES_WINDOW 12

/* One caller of display_perform() in the queue; on its stack. */
struct hands_turn {
    struct hands_turn *next;
};

/* Part of struct display; its mutex guards all but what is set at opening. */
struct hands {
    struct display_helper assist; /* set at opening */
    struct holds *holds;          /* set at opening; borrowed, or own_holds */
    struct holds *own_holds;      /* where the opener gave none */
    struct holder *holder;        /* set at opening; ours: what we hold down, and where we put the pointer */

    struct hands_turn *turns; /* who performs, and who waits for it, in order */
    struct cancel *stop;      /* fires when the one who performs must give up; NULL while nobody does */
    char paused[160];         /* why the guest's CPUs stand; "" while they run */
    bool owing;               /* the guest stood when something was to be released: do it when it runs */

    uint64_t keys_sent;      /* key events handed to QEMU */
    uint64_t keys_delivered; /* of them proven to have left its queue */
    uint64_t keys_taken;     /* of them proven to be in the guest */
    uint64_t moves_sent;     /* pointer messages handed to QEMU */
    uint64_t moves_taken;    /* of them proven to be in the guest */
    uint64_t move_ping;      /* after the last pointer message */
    int64_t due_us;          /* by when the timer of QEMU's key queue has run out, monotonic */
    int64_t pinged_us;       /* when the last ping was sent whose echo has come */
    int64_t pointer_us;      /* when the next pointer message may go */
};

/* A key event that is not posted yet. */
struct hands_key {
    uint8_t scancode;
    bool down;
    bool lift;   /* releases what another party holds */
    bool enters; /* with it a character of a text is in the guest */
};

/* A question to the guest's agent under way, on a thread of its own. The session's mutex guards all. */
struct hand_question {
    pthread_t thread;
    bool asked;    /* the thread is to be joined */
    bool answered; /* it has come back */
    uint64_t keys; /* what a good answer proves to be taken */
    uint64_t moves;
    int result;
    struct error err;
};

/* One display_perform() under way; on its caller's stack. */
struct hand {
    struct display *display;
    struct cancel *cancel; /* the caller's; may be NULL */
    int64_t deadline_ms;
    uint32_t width, height; /* of the screen, as it was when the action began */
    struct hands_key chunk[KEYS_CHUNK];
    size_t chunk_count;
    size_t typed; /* characters of the present text that have been sent */
    struct hand_question question;
};

/* Sets up and takes down what belongs to a session. */
void hands_open(struct display *display, const struct display_helper *assist, struct holds *holds);
void hands_close(struct display *display);

/*
 * Lets go of the buttons that a node before this one left down (holds_inherit()): this connection has to
 * press them first, for QEMU compares with what the same connection said last. The mutex is held. Waits for
 * nothing.
 */
void hands_inherit(struct display *display);

/*
 * Sends what releases every button and key that the session holds, or notes that it must be done once the
 * guest runs. The mutex is held. Waits for nothing.
 */
void hands_release(struct display *display);

/* --- hands.c: waiting. The mutex is held unless a comment says otherwise. --- */

/* Why the one who performs must give up: the session's end, the caller's, a paused guest. */
int hand_check(const struct hand *hand, struct error *err);

/* The same without the pause, for what is no input. */
int hand_check_wanted(const struct hand *hand, struct error *err);

/* Waits until a monotonic time. `input`: the guest must run all the while. */
int hand_hold_until(struct hand *hand, int64_t until_us, bool input, struct error *err);

/* Waits until QEMU has processed everything up to a ping of session_post(). */
int hand_await(struct hand *hand, uint64_t ping, struct error *err);

/* Asks the agent about what is delivered and unproven, when no question is under way and there is any. */
int hand_ask(struct hand *hand, struct error *err);

/* Takes the agent's answer, when it has come. */
int hand_hear(struct hand *hand, struct error *err);

/* Waits until all that QEMU has delivered is proven. No lock is held. */
int hand_prove(struct hand *hand, struct error *err);

/* Waits for the end of a question; for the end of display_perform(). No lock is held. */
void hand_join(struct hand *hand);

/* Everything that was sent is delivered and, where there is an agent, proven. No lock is held. */
int hand_settle(struct hand *hand, struct error *err);

/* --- keyboard.c; no lock is held --- */

/* Gathers a key event; several are posted at a time. */
int keyboard_send(struct hand *hand, uint16_t key, bool down, struct error *err);

/* Modifiers (of enum key_modifier) go down in one order and come up in the opposite one. */
int keyboard_modifiers(struct hand *hand, unsigned modifiers, bool down, struct error *err);

/*
 * Gathers a press and its release, which go out together: a key that stays down for longer than 660 ms begins
 * to repeat. `enters`: with it a character of a text is in the guest; see hand.typed.
 */
int keyboard_tap(struct hand *hand, uint16_t key, bool enters, struct error *err);

/* Releases the modifiers that other parties hold down, so that a text does not become a shortcut. */
int keyboard_lift_others(struct hand *hand, struct error *err);

/* Before an action that presses keys: connections to QEMU end at no time of their own any more. */
int keyboard_begin(struct hand *hand, struct error *err);

/*
 * At a moment without a key of ours down: lets connections to QEMU end that wait for one, and does not go on
 * before QEMU has noticed.
 */
int keyboard_pause(struct hand *hand, struct error *err);

/* Posts what is gathered, and waits until QEMU's queue is empty. */
int keyboard_drain(struct hand *hand, struct error *err);

/* Writes the messages that release keys into `bytes` (HANDS_KEY_BYTES each) and reckons with them. The mutex
 * is held. */
#define HANDS_KEY_BYTES 12
size_t keyboard_release(struct display *display, const uint32_t *keys, size_t count, unsigned char *bytes);

/* --- pointer.c; no lock is held --- */

/* One pointer message: the pointer at a pixel, with these buttons (RFB mask). */
int pointer_send(struct hand *hand, struct action_point at, uint8_t buttons, struct error *err);

/* Waits until QEMU has processed the last pointer message. */
int pointer_settle(struct hand *hand, struct error *err);

/* The buttons that the session holds down. */
uint8_t pointer_buttons(const struct hand *hand);

/* Write the message that sets the buttons where the pointer is, or releases all, and reckon with it. The
 * mutex is held. */
#define HANDS_POINTER_BYTES 6
size_t pointer_set(struct display *display, uint8_t buttons, unsigned char bytes[HANDS_POINTER_BYTES]);
size_t pointer_release(struct display *display, unsigned char bytes[HANDS_POINTER_BYTES]);

#endif
