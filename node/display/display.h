/*
 * The node's own session with a guest's display: one RFB client (libvncclient) on a thread of its own, fed by
 * a descriptor from libvirt. Others ask for frames and perform actions through it from any thread.
 *
 * A frame is immutable and counted: many readers share one. Input is exact and paced by what is known of
 * QEMU's queues (docs/ARCHITECTURE.md, "hands and eyes"): actions run one after the other in the order they
 * came.
 */
#ifndef BERTHOS_DISPLAY_DISPLAY_H
#define BERTHOS_DISPLAY_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "protocol/action.h"

struct display; /* opaque */

/*
 * One picture of the screen. Pixels are 32 bits, little endian 0x00RRGGBB, rows without padding. Immutable;
 * shared by reference count.
 */
struct display_frame {
    int references;    /* private to display/ */
    uint64_t sequence; /* grows with each change of the screen; equal numbers are equal pixels */
    uint32_t width, height;
    int64_t time_ms; /* monotonic, when the last change was seen */
    uint32_t pixels[];
};

/*
 * Opens the session on a connected descriptor of the VNC server (*transferred*, also on failure). timeout_ms
 * bounds the handshake. NULL with ERROR_GUEST_FAILED. *Owned*: display_close().
 */
struct display *display_open(int fd, int64_t timeout_ms, struct error *err);

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
 * A frame that shows everything the guest had drawn 100 ms before this call. Bounded: ERROR_GUEST_FAILED when
 * QEMU does not answer by the deadline. *Owned*: display_frame_release().
 */
struct display_frame *display_capture(struct display *display, int64_t deadline_ms, struct error *err);
void display_frame_release(struct display_frame *frame);
CLEANUP_DEFINE(display_frame, struct display_frame *, display_frame_release);
#define CLEANUP_FRAME CLEANUP(cleanup_display_frame)

/* Whether the frame shows one colour only. */
bool display_frame_is_blank(const struct display_frame *frame);

/* Waits for a frame of width x height that is not blank. Errors as display_capture(). *Owned*. */
struct display_frame *display_wait_drawn(struct display *display, uint32_t width, uint32_t height,
                                         int64_t deadline_ms, struct error *err);

/* What performing did; beside the action's own answer. */
struct display_outcome {
    size_t done;                  /* how many actions were performed whole */
    uint32_t width, height;       /* of the frame that coordinates were checked against */
    int32_t pointer_x, pointer_y; /* where the pointer is now, pixels; -1 when it has not been moved */
};

/*
 * Performs actions in order, stopping at the first failure (its index is outcome->done). Returns when the
 * guest has been sent everything and QEMU's queue has drained. A failed or cut-off action leaves no button or
 * key down. Errors: ERROR_BAD_REQUEST (outside the display), ERROR_UNTYPABLE, ERROR_TIMEOUT (the deadline, or
 * that of a wait), ERROR_GUEST_FAILED, ERROR_NOT_FOUND (after display_shutdown()).
 */
int display_perform(struct display *display, const struct action *actions, size_t count, int64_t deadline_ms,
                    struct display_outcome *outcome, struct error *err);

#endif
