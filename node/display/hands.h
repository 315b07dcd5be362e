/*
 * The hands of a session: what reaches the guest's keyboard and pointer, in which order and at which pace.
 * Private to display/.
 *
 * Theory of operation. Two queues lie between a message of ours and the guest, and both lose silently what
 * does not fit.
 *
 * QEMU's own queue holds each key event back for 10 ms behind the one before (key-delay-ms) and takes some
 * 340. What it has delivered by now is reckoned: 10 ms an event, and as late as QEMU's main loop answers our
 * pings. Pointer messages do not pass through it.
 *
 * The ring of each virtio input device holds 64 entries: 32 key events (a key and a SYN), or 16 pointer
 * messages (two axes, a button, a SYN). It empties when the guest runs, and a virtual CPU can stand for
 * seconds on a busy host. No VNC client can see that, but the guest's agent can be asked: the images serve
 * the interrupts of input and of the agent on one CPU, so an answer to a ping that was sent after an event
 * was delivered proves that the ring was emptied of it. So at most KEYS_WINDOW key events and MOVES_WINDOW
 * pointer messages are ever under way unproven; the rest of a ring is for what releases, and for errors of
 * the reckoning. A ping is asked for while QEMU still has events to deliver, so that typing does not wait for
 * the agent. Keys and pointer are two devices, which the guest reads in no set order: neither goes out while
 * something of the other is unproven. Without an agent (display_assist.confirm) what was delivered counts as
 * taken.
 *
 * A paused guest gets nothing: QEMU throws input away then. What is held down is released when it runs again.
 */
#ifndef BERTHOS_DISPLAY_HANDS_H
#define BERTHOS_DISPLAY_HANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "display/display.h"
#include "display/holds.h"
#include "protocol/action.h"

#define KEYS_WINDOW  24
#define KEYS_CHUNK   8 /* key events that are posted together */
#define MOVES_WINDOW 12

/* One caller of display_perform() in the queue; on its stack. */
struct hands_turn {
    struct hands_turn *next;
};

/* Part of struct display; its mutex guards all but what is set at opening. */
struct hands {
    struct display_assist assist; /* set at opening */
    struct holds *holds;          /* set at opening; borrowed, or own_holds */
    struct holds *own_holds;      /* where the opener gave none */
    struct holder *holder;        /* set at opening; ours: what we hold down, and where we put the pointer */

    struct hands_turn *turns; /* who performs, and who waits for it, in order */
    struct cancel *stop;      /* fires when the one who performs must give up; NULL while nobody does */
    char paused[160];         /* why the guest's CPUs stand; "" while they run */
    bool owing;               /* the guest stood when something was to be released: do it when it runs */

    uint64_t keys_sent, keys_taken;   /* key events handed to QEMU; of them proven to be in the guest */
    uint64_t moves_sent, moves_taken; /* the same of pointer messages */
    uint64_t move_ping;               /* after the last pointer message */
    int64_t drained_us;               /* when QEMU's key queue will be empty, monotonic */
    int64_t lateness_us;              /* how late QEMU's main loop answers, smoothed */
    int64_t pointer_us;               /* when the next pointer message may go */
};

/* A key event that is not posted yet. */
struct hands_key {
    uint8_t scancode;
    bool down;
    bool lift;   /* releases what another party holds */
    bool enters; /* with it a character of a text is in the guest */
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
};

/* Sets up and takes down what belongs to a session. */
void hands_open(struct display *display, const struct display_assist *assist, struct holds *holds);
void hands_close(struct display *display);

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

/* Waits until the guest's kernel has all that QEMU has delivered to it. No lock is held. */
int hand_confirm(struct hand *hand, struct error *err);

/* Everything that was sent is delivered and, where there is an agent, proven. No lock is held. */
int hand_settle(struct hand *hand, struct error *err);

/* --- keyboard.c; no lock is held --- */

/* Gathers a key event; several are posted at a time. */
int keyboard_send(struct hand *hand, uint16_t key, bool down, struct error *err);

/* Modifiers (of enum action_modifier) go down in one order and come up in the opposite one. */
int keyboard_modifiers(struct hand *hand, unsigned modifiers, bool down, struct error *err);

/* Marks the last gathered event as the one that enters a character; see hand.typed. */
void keyboard_mark(struct hand *hand);

/* Releases the modifiers that other parties hold down, so that a text does not become a shortcut. */
int keyboard_lift_others(struct hand *hand, struct error *err);

/*
 * At a moment without a key of ours down: lets connections to QEMU end that wait for one, and does not go on
 * before QEMU has noticed.
 */
int keyboard_pause(struct hand *hand, struct error *err);

/* Posts what is gathered, and waits until QEMU's queue is empty; to `prove` it, with room for error. */
int keyboard_drain(struct hand *hand, bool prove, struct error *err);

/* Writes the messages that release keys into `bytes` (HANDS_KEY_BYTES each) and reckons with them. The mutex
 * is held. */
#define HANDS_KEY_BYTES 12
size_t keyboard_release(struct display *display, const uint32_t *keys, size_t count, unsigned char *bytes);

/* How many of the key events that were sent QEMU has delivered by now, as far as is known. The mutex is held.
 */
uint64_t keyboard_delivered(const struct display *display);

/* --- pointer.c; no lock is held --- */

/* One pointer message: the pointer at a pixel, with these buttons (RFB mask). */
int pointer_send(struct hand *hand, struct action_point at, uint8_t buttons, struct error *err);

/* Waits until QEMU has processed the last pointer message. */
int pointer_settle(struct hand *hand, struct error *err);

/* The buttons that the session holds down. */
uint8_t pointer_buttons(const struct hand *hand);

/* Writes the message that sets the buttons where the pointer is and reckons with it. The mutex is held. */
#define HANDS_POINTER_BYTES 6
size_t pointer_release(struct display *display, unsigned char bytes[HANDS_POINTER_BYTES]);

#endif
