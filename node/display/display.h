/*
 * The node's own session with a guest's display: one RFB client on a thread of its own, fed by a descriptor
 * from libvirt. Others ask for frames by number and perform actions through it from any thread.
 *
 * This is the face of display/: it and the headers that it brings (frames, pictures, screenshots, input, the
 * helper, holds) are all that other parts include.
 */
#ifndef BERTHOS_DISPLAY_DISPLAY_H
#define BERTHOS_DISPLAY_DISPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "display/act.h"
#include "display/display_helper.h"
#include "display/frame.h"
#include "display/holds.h"
#include "display/input.h"
#include "display/picture_budget.h"
#include "display/screenshot.h"

struct display; /* opaque */

/*
 * Opens the session on a connected descriptor of the VNC server (*transferred*, also on failure). helper is
 * copied and may be NULL; holds says what others hold down on the same guest, is borrowed until
 * display_close() and may be NULL. all: of the node's pictures; shared, may be NULL. timeout_ms bounds the
 * handshake. NULL with ERROR_GUEST_FAILED. *Owned*: display_close().
 */
struct display *display_open(int fd, const struct display_helper *helper, struct holds *holds,
                             struct picture_budget *all, int64_t timeout_ms, struct error *err);

/* Releases every button and key that the session holds, ends the thread and frees. No other call may be under
 * way. */
void display_close(struct display *display);
CLEANUP_DEFINE(display, struct display *, display_close);

/*
 * Wakes every caller that waits inside the session with ERROR_NOT_FOUND ("the lease has ended") and makes
 * later calls fail the same way. Call it before display_close().
 */
void display_shutdown(struct display *display);

/*
 * Whether the session has come to an end by itself: QEMU closed it, stopped answering or made no sense. *err
 * then says why; every other call fails in the same way, and a new session may work.
 */
bool display_lost(struct display *display, struct error *err);

/*
 * A frame that shows everything the guest had drawn 100 ms before this call. Bounded: ERROR_GUEST_FAILED when
 * QEMU does not answer by the deadline. *Owned*: frame_release().
 */
struct frame *display_capture(struct display *display, int64_t deadline_ms, struct error *err);

/* Waits for a frame of width x height that is not blank. Errors as display_capture(). *Owned*. */
struct frame *display_wait_drawn(struct display *display, uint32_t width, uint32_t height,
                                 int64_t deadline_ms, struct error *err);

#endif
