/* The pointer of a session: what goes out, to which pixel, at which pace (proof.h). Private to display/. No
 * lock is held but where a comment says so. */
#ifndef BERTHOS_DISPLAY_POINTER_H
#define BERTHOS_DISPLAY_POINTER_H

#include "display/turn.h"

/* One pointer message: the pointer at a pixel, with these buttons (RFB mask). */
int pointer_send(struct turn *turn, struct action_point at, uint8_t buttons, struct error *err);

/* Waits until QEMU has processed the last pointer message. */
int pointer_settle(struct turn *turn, struct error *err);

/* The buttons that the session holds down. */
uint8_t pointer_buttons(const struct turn *turn);

/* Writes the message that sets the buttons where the pointer is, and reckons with it. The mutex is held. */
#define POINTER_BYTES 6
size_t pointer_set(struct input_state *input, uint8_t buttons, unsigned char bytes[POINTER_BYTES]);

#endif
