/*
 * The way from QEMU to the viewer: what QEMU says, unread, in binary frames, and control frames between two
 * of them. Private to view/.
 *
 * A pour holds one frame at most. While it holds anything nothing is taken from QEMU: so the memory of a
 * viewer that does not read is bounded, and QEMU holds it back. No call blocks.
 */
#ifndef BERTHOS_VIEW_POUR_H
#define BERTHOS_VIEW_POUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "view/frames.h"

#define POUR_MAX (256 << 10) /* bytes of a frame's payload; much at once is what makes the pump cheap */

/* All of it is private to pour.c. */
struct pour {
    size_t at, end; /* of `bytes`: what the peer has not taken of the present frame */
    uint8_t bytes[FRAMES_HEADER_MAX + POUR_MAX];
};

void pour_start(struct pour *pour);

/* Whether no frame is under way. */
bool pour_idle(const struct pour *pour);

enum pour_taken { POUR_SOME, POUR_NOTHING, POUR_ENDED };

/*
 * Takes what QEMU has said, as the next frame, of which nothing is sent yet. Only when pour_idle().
 * POUR_NOTHING: it has said nothing yet. POUR_ENDED: nothing will come any more.
 */
enum pour_taken pour_take(struct pour *pour, int vnc_fd);

/* The next frame is a control frame; size: at most FRAMES_CONTROL_MAX. Only when pour_idle(). */
void pour_control(struct pour *pour, enum frame_opcode opcode, const uint8_t *payload, size_t size);

/* The next frame closes the connection; a reason that does not fit is cut. Only when pour_idle(). */
void pour_close(struct pour *pour, enum close_code code, const char *reason);

/*
 * Sends what the peer takes of the frame under way. Returns how many bytes that were, 0 when there is none or
 * no room; -1 when the peer cannot be reached any more.
 */
ssize_t pour_send(struct pour *pour, int socket);

#endif
