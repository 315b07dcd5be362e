/*
 * What all turns at a guest's input share (input.h): who holds what, what was sent, and how much of it is
 * known to have arrived (proof.h). Private to display/.
 */
#ifndef BERTHOS_DISPLAY_INPUT_STATE_H
#define BERTHOS_DISPLAY_INPUT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "display/display_helper.h"
#include "display/holds.h"
#include "display/session.h"

/* Part of struct display; the session's mutex guards all but what is set at opening. */
struct input_state {
    struct session *session;      /* set at opening; borrowed */
    struct display_helper helper; /* set at opening */
    struct holds *holds;          /* set at opening; borrowed, or own_holds */
    struct holds *own_holds;      /* where the opener gave none */
    struct holder *holder;        /* set at opening; ours: what we hold down, and where we put the pointer */

    struct turn *turns;  /* who performs, and who waits for it, in order */
    struct cancel *stop; /* fires when the one who performs must give up; NULL while nobody does */
    char paused[160];    /* why the guest's CPUs stand; "" while they run */
    bool owing;          /* the guest stood when something was to be released: do it when it runs */

    uint64_t keys_sent;      /* key events handed to QEMU */
    uint64_t keys_delivered; /* of them proven to have left its queue */
    uint64_t keys_taken;     /* of them proven to be in the guest */
    uint64_t moves_sent;     /* pointer messages handed to QEMU */
    uint64_t moves_taken;    /* of them proven to be in the guest */
    uint64_t move_ping;      /* after the last pointer message */
    int64_t due_us;          /* by when the timer of QEMU's key queue has run out, monotonic */
    int64_t pinged_us;       /* when the last ping was sent whose echo has come */
    int64_t pointer_us;      /* when the next pointer message may go */
};

#endif
