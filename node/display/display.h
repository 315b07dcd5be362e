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

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "display/holds.h"
#include "protocol/action.h"

struct display; /* opaque */

/*
 * One picture of the screen. Pixels are 32 bits, little endian 0x00RRGGBB, rows without padding. Immutable;
 * shared by reference count.
 */
struct frame {
    int references;    /* private to display/ */
    uint64_t sequence; /* grows with each change of the screen; equal numbers are equal pixels */
    uint32_t width, height;
    int64_t time_ms; /* monotonic, when the last change was seen */
    uint32_t pixels[];
};

/*
 * What reaches the guest beside its display, through its agent. The functions are called without a lock on
 * the thread that performs an action, block until their deadline (clock.h) at most, and may be NULL where the
 * guest has no such thing.
 */
struct display_helper {
    void *context;

    /* Returns 0 when the guest's kernel has taken every key event that QEMU gave it before the call. */
    int (*confirm)(void *context, int64_t deadline_ms, struct error *err);

    /* Types a text whole; *typed says how many characters were entered, also on failure. */
    int (*type)(void *context, const char *text, size_t size, const struct cancel *cancel,
                int64_t deadline_ms, size_t *typed, struct error *err);

    /* Clicks a button that QEMU's VNC server does not have (back, forward). */
    int (*click)(void *context, struct action_point at, enum action_button button, int count,
                 int64_t deadline_ms, struct error *err);

    /* Turns the horizontal wheel, in notches to the right. */
    int (*scroll)(void *context, struct action_point at, int32_t dx, int64_t deadline_ms, struct error *err);
};

/*
 * Opens the session on a connected descriptor of the VNC server (*transferred*, also on failure). assist is
 * copied and may be NULL; holds says what others hold down on the same guest, is borrowed until
 * display_close() and may be NULL. timeout_ms bounds the handshake. NULL with ERROR_GUEST_FAILED. *Owned*:
 * display_close().
 */
struct display *display_open(int fd, const struct display_helper *assist, struct holds *holds,
                             int64_t timeout_ms, struct error *err);

/*
 * Says that the guest's CPUs have stopped (why: the end of a sentence, copied) or run again (NULL). While
 * they stand, input is refused with ERROR_PAUSED, also the rest of what is under way; looking goes on.
 */
void display_set_paused(struct display *display, const char *why);

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
void frame_release(struct frame *frame);
CLEANUP_DEFINE(frame, struct frame *, frame_release);
#define CLEANUP_FRAME CLEANUP(cleanup_frame)

/* Whether the frame shows one colour only. */
bool frame_is_blank(const struct frame *frame);

/* Waits for a frame of width x height that is not blank. Errors as display_capture(). *Owned*. */
struct frame *display_wait_drawn(struct display *display, uint32_t width, uint32_t height,
                                 int64_t deadline_ms, struct error *err);

/* Actions that are performed together. */
struct display_request {
    const struct action *actions; /* borrowed */
    size_t count;
    uint32_t frame_width, frame_height; /* the screen that the coordinates refer to; 0: the present one */
};

/* What performing did; beside the action's own answer. */
struct display_outcome {
    size_t done;                  /* how many actions were performed whole */
    uint32_t width, height;       /* of the screen that coordinates were checked against */
    int32_t pointer_x, pointer_y; /* where the pointer is now, pixels; -1 when it has not been moved */
    uint64_t sequence;            /* of the pixels when the first action began; see display_changes() */
    int64_t began_ms, ended_ms;   /* monotonic: when the first action began, when the last was done */
};

/*
 * Performs actions in order, stopping at the first failure (its index is outcome->done). Returns when the
 * guest has been sent everything and QEMU's queue has drained. A failed or cut-off action leaves no button or
 * key down. cancel may be NULL; what fires it gives the action up. Errors: ERROR_BAD_REQUEST (outside the
 * display), ERROR_FRAME_CHANGED, ERROR_UNTYPABLE (checked for all before the first is done), ERROR_PAUSED,
 * ERROR_CANCELLED, ERROR_TIMEOUT (the deadline, or that of a wait), ERROR_GUEST_FAILED, ERROR_NOT_FOUND
 * (after display_shutdown()).
 */
int display_perform(struct display *display, const struct display_request *request, struct cancel *cancel,
                    int64_t deadline_ms, struct display_outcome *outcome, struct error *err);

#endif
