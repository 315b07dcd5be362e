/* The keyboard of a session: what goes out, and how far QEMU is with it (proof.h). Private to display/. No
 * lock is held but where a comment says so. */
#ifndef BERTHOS_DISPLAY_KEYBOARD_H
#define BERTHOS_DISPLAY_KEYBOARD_H

#include "display/proof.h"

/* Gathers a key event; several are posted at a time. */
int keyboard_send(struct turn *turn, uint16_t key, bool down, struct error *err);

/* Modifiers (of enum key_modifier) go down in one order and come up in the opposite one. */
int keyboard_modifiers(struct turn *turn, unsigned modifiers, bool down, struct error *err);

/*
 * Gathers a press and its release, which go out together: a key that stays down for longer than 660 ms begins
 * to repeat. `enters`: with it a character of a text is in the guest; see turn.typed.
 */
int keyboard_tap(struct turn *turn, uint16_t key, bool enters, struct error *err);

/* Releases the modifiers that other parties hold down, so that a text does not become a shortcut. */
int keyboard_lift_others(struct turn *turn, struct error *err);

/* Before an action that presses keys: connections to QEMU end at no time of their own any more. */
int keyboard_begin(struct turn *turn, struct error *err);

/*
 * At a moment without a key of ours down: lets connections to QEMU end that wait for one, and does not go on
 * before QEMU has noticed.
 */
int keyboard_pause(struct turn *turn, struct error *err);

/* Posts what is gathered, and waits until QEMU's queue is empty. */
int keyboard_drain(struct turn *turn, struct error *err);

/* The same, and where there is an agent, waits until all that was sent, pointer too, is proven to be in the
 * guest. */
int keyboard_settle(struct turn *turn, struct error *err);

/* Writes the messages that release keys into `bytes` (KEYBOARD_BYTES each) and reckons with them. The mutex
 * is held. */
#define KEYBOARD_BYTES 12
size_t keyboard_release(struct input_state *input, const uint32_t *keys, size_t count, unsigned char *bytes);

#endif
