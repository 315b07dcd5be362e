/*
 * Proof that the guest has taken what was sent to it. Private to display/.
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
#ifndef BERTHOS_DISPLAY_PROOF_H
#define BERTHOS_DISPLAY_PROOF_H

#include "display/turn.h"

#define KEYS_WINDOW  26
#define KEY_US       10000 /* for which QEMU holds a key event back behind the one before */
#define MOVES_WINDOW 12

/* Asks the agent about what is delivered and unproven, when no question is under way and there is any. The
 * mutex is held. */
int proof_ask(struct turn *turn, struct error *err);

/* Takes the agent's answer, when it has come. The mutex is held. */
int proof_hear(struct turn *turn, struct error *err);

/* Waits until all that QEMU has delivered is proven. No lock is held. */
int proof_await(struct turn *turn, struct error *err);

/* Waits for the end of a question; for the end of a turn. No lock is held. */
void proof_join(struct turn *turn);

#endif
