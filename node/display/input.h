/*
 * Input: keys and pointer on their way to the guest. It is exact and paced by what is known of QEMU's queues
 * (proof.h): callers perform one after the other, in the order they came (turn.h).
 */
#ifndef BERTHOS_DISPLAY_INPUT_H
#define BERTHOS_DISPLAY_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "display/display_helper.h"
#include "display/holds.h"
#include "protocol/action.h"

struct display;

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

/*
 * Says that the guest's CPUs have stopped (why: the end of a sentence, copied) or run again (NULL). While
 * they stand, input is refused with ERROR_PAUSED, also the rest of what is under way; looking goes on.
 */
void display_set_paused(struct display *display, const char *why);

/* --- private to display/ --- */

struct input_state;
struct session;

/* Sets up and takes down what belongs to a session. helper and holds may be NULL. */
void input_open(struct input_state *input, struct session *session, const struct display_helper *helper,
                struct holds *holds);
void input_close(struct input_state *input);

/*
 * Lets go of the buttons that a node before this one left down (holds_inherit()): this connection has to
 * press them first, for QEMU compares with what the same connection said last. The mutex is held. Waits for
 * nothing.
 */
void input_inherit(struct input_state *input);

/*
 * Sends what releases every button and key that the session holds, or notes that it must be done once the
 * guest runs. The mutex is held. Waits for nothing.
 */
void input_release(struct input_state *input);

#endif
