/*
 * The way from QEMU to the viewer: what QEMU says, unread, in binary frames, and control frames between two
 * of them. Private to view/.
 *
 * A pour holds one frame at most. While it holds anything nothing is taken from QEMU: so the memory of a
 * viewer that does not read is bounded, and QEMU holds it back. No call blocks. SIGPIPE has to be ignored.
 */
#ifndef BERTHOS_VIEW_POUR_H
#define BERTHOS_VIEW_POUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "view/frames.h"

/* All of it is private to pour.c. */
struct pour {
    int in, out;              /* of the pipe: its end towards QEMU; towards the peer. -1: none */
    size_t payload;           /* bytes in the pipe: what the peer has not taken of the present frame's */
    size_t head_at, head_end; /* of `head`: what it has not taken of the header, or of a control frame */
    uint8_t head[FRAMES_HEADER_MAX + FRAMES_CONTROL_MAX];
};

/* *Owned*: pour_free(). ERROR_INTERNAL: there are no descriptors left; nothing is to be freed. */
int pour_open(struct pour *pour, struct error *err);
void pour_free(struct pour *pour);

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
void pour_goodbye(struct pour *pour, enum close_code code, const char *reason);

/*
 * Sends what the peer takes of the frame under way. Returns how many bytes that were, 0 when there is none or
 * no room; -1 when the peer cannot be reached any more. socket: non-blocking.
 */
ssize_t pour_send(struct pour *pour, int socket);

#endif
