/*
 * One berth and the way of a guest through it. Private to lease/.
 *
 *     empty -> preparing -> ready -> preparing -> leased -> ending -> empty
 *                 |  |        |          ^
 *                 |  |        +----------|---> ending -> empty      stale, dead, or not wanted any more
 *                 |  +-------------------+                          a cold guest, or a create that waited
 *                 +-- failure: undone -----> failed, the reason kept
 *
 * Ready is a berth with a spare: a guest that no tenant has touched, kept by the keeper for whoever comes
 * next (spare.h); the create that takes it passes through preparing again. Preparing says in `for_nobody`
 * whether it is for a lease or for a spare.
 *
 * Lock order: leases.mutex, then berth.mutex. Neither is held over a call to libvirt, the display, the disk
 * or the journal: a step takes the lock, changes the state, lets go, acts, and takes it again to say how it
 * went. The state itself keeps others out meanwhile: only the thread that set preparing or ending acts on the
 * berth.
 */
#ifndef BERTHOS_LEASE_BERTH_H
#define BERTHOS_LEASE_BERTH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "display/display.h"
#include "guest/guest.h"
#include "image/image.h"
#include "lease/journal_record.h"
#include "lease/leases_inside.h"
#include "view/view.h"

/* How long libvirt may take to say something of a guest, and to do something to it. */
enum { BERTH_ASK_MS = 5000, BERTH_CALL_MS = 10000 };

enum berth_state { BERTH_EMPTY, BERTH_PREPARING, BERTH_READY, BERTH_LEASED, BERTH_ENDING, BERTH_FAILED };

/* A usable guest, as far as it is not the domain itself. */
struct berth_desktop {
    struct image *image;     /* that it was started from; owned */
    struct display *display; /* owned; NULL while it is saved on disk */
};

/* A guest that waits for a lease; see spare.h. */
struct spare {
    const char *how; /* static: "ram", paused; "disk", saved; NULL: there is none */
    struct lease_shape shape;
    struct berth_desktop desktop;
    int64_t since_ms; /* monotonic: when it got ready */
};

struct berth {
    struct leases *leases; /* that it is one of */
    int n;
    char name[GUEST_NAME_SIZE];
    char *overlay;       /* path; owned */
    char *console_log;   /* path; owned */
    struct holds *holds; /* what is held down on its guest; owned, for the life of the berth */

    pthread_mutex_t mutex;  /* guards all below */
    pthread_cond_t changed; /* state, users or acting changed */
    enum berth_state state;
    const char *phase; /* static */
    int64_t since_ms;  /* monotonic */
    char reason[256];
    /* Its UUID is always the same. Who sets preparing or ending alone notes and acts on its run; everybody
     * else acts by a copy: berth_guest_now(). */
    struct guest guest;
    struct journal_record record; /* while preparing, leased or ending */
    int64_t since_boot_ms;        /* boottime: occupancy runs from here while leased */
    int64_t expires_boot_ms;      /* boottime; CLOCK_NEVER = does not expire */
    bool acting;                  /* a thread is ending the guest now */
    bool cancelled;               /* the create or preparation under way is to give up */

    /* of the lease's guest: berth_display.c, berth_view.c */
    struct display *display;         /* while leased; owned */
    int users;                       /* calls inside the display */
    struct retired_display *retired; /* lost ones that somebody is still inside of */
    bool reopening;                  /* a thread is opening another display */
    int64_t reopen_failed_ms;        /* monotonic, when that last went wrong; 0 */
    const char *paused;              /* why its guest's CPUs stand, static; NULL while they run */
    bool agent_silent;               /* its guest's agent did not answer when it was asked last */
    struct view *view;               /* while leased; owned */

    /* of spare.c */
    bool for_nobody;    /* preparing: it is for no lease yet */
    int awaited;        /* creates that wait for the spare that is prepared */
    struct spare spare; /* while ready, and while a create takes it over */
    int failures;       /* preparations that went wrong in a row */
    int64_t prepare_ms; /* monotonic: the keeper prepares no guest before */
};

/* Changes the state and tells everybody who waits. With berth.mutex held. */
void berth_enter(struct berth *berth, enum berth_state state, const char *phase);

/* Shows the next phase; fails when the create was cancelled meanwhile. phase: static. */
int berth_enter_phase(struct berth *berth, const char *phase, struct error *err);

/* Makes the spare there for the next create. With berth.mutex held, while preparing. */
void berth_enter_ready(struct berth *berth);

/* Makes the berth, which is free or ready, this thread's, to prepare a guest for a lease or for nobody yet.
 * With berth.mutex held. */
void berth_begin(struct berth *berth, bool for_nobody);

/* Puts a berth back that was begun and of which nothing was used: ready again, or empty. */
void berth_put_back(struct berth *berth);

/* The state as of now. Without the lock. */
enum berth_state berth_state_now(struct berth *berth);

/* Whether it is for a lease: in the making, live or ending. With berth.mutex held. */
bool berth_is_taken(const struct berth *berth);

/* Whether its spare is one that has no domain: it is saved on the disk. */
bool berth_spare_is_saved(const struct berth *berth);

/* The berth's guest as of now. Without the lock. */
struct guest berth_guest_now(struct berth *berth);

/* Notes which run the berth's guest is; GUEST_ANY_RUN: none. For the thread that the berth is preparing or
 * ending for. */
void berth_note_run(struct berth *berth, int run);

/* Whether libvirt says that the berth's guest is not there any more; false when it does not answer. */
bool berth_guest_is_gone(struct berth *berth);

/* Occupancy so far, milliseconds. With berth.mutex held, while leased. */
int64_t berth_occupied_ms(const struct berth *berth);

/* Removes whatever there is of the berth's guest: domain (seen to be gone), overlay, console log. */
int berth_take_down(struct berth *berth, struct error *err);

/*
 * Undoes a create or a preparation, for the thread that the berth is preparing for: nothing of its guest
 * remains, then its record goes and the berth is free (failed where there is a reason, given here or before).
 * Where the guest does not go the berth is ending, and the keeper tries again.
 */
void berth_undo(struct berth *berth, const char *why);

/* The same for a berth that is ending because its guest did not go; nothing where it is not, or where another
 * thread is at it. */
void berth_undo_again(struct berth *berth);

#endif
