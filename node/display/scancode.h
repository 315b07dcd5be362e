/* Key codes as QEMU's extended key event takes them. */
#ifndef BERTHOS_DISPLAY_SCANCODE_H
#define BERTHOS_DISPLAY_SCANCODE_H

#include <stdint.h>

/*
 * The XT scancode (set 1) of an evdev key code, with an 0xe0 prefix written as bit 7: what the RFB message
 * "QEMU Extended Key Event" calls a keycode. 0 for a key that the table does not have.
 */
uint8_t scancode_of(uint16_t key);

#endif
