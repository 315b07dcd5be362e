/*
 * One berth and the way of a guest through it. Private to lease/.
 *
 *     empty -> preparing -> leased -> ending -> empty          (ready belongs to prepared guests)
 *                 |                     ^
 *                 +-- failure: undone --+-> empty, the reason kept
 *
 * Lock order: leases.mutex, then berth.mutex. Neither is held over a call to libvirt, the display, the disk
 * or the journal: a step takes the lock, changes the state, lets go, acts, and takes it again to say how it
 * went. The state itself keeps others out meanwhile: only the thread that set preparing or ending acts on the
 * berth.
 */
#ifndef BERTHOS_LEASE_BERTH_H
#define BERTHOS_LEASE_BERTH_H

#include "lease/journal.h"
#include "lease/leases.h"

enum berth_state { BERTH_EMPTY, BERTH_PREPARING, BERTH_READY, BERTH_LEASED, BERTH_ENDING, BERTH_FAILED };

struct berth {
    int n;
    char uuid[GUEST_UUID_SIZE]; /* of this berth's domain, always the same */
    char name[GUEST_NAME_SIZE];
    char *overlay;     /* path */
    char *console_log; /* path */

    pthread_mutex_t mutex;  /* guards all below */
    pthread_cond_t changed; /* state, users or acting changed */
    enum berth_state state;
    const char *phase; /* static */
    int64_t since_ms;  /* monotonic */
    char reason[256];
    struct journal_record record;    /* while preparing, leased or ending */
    int64_t since_boot_ms;           /* boottime: occupancy runs from here while leased */
    int64_t expires_boot_ms;         /* boottime; CLOCK_NEVER = does not expire */
    struct holds *holds;             /* what is held down on its guest; owned, for the life of the berth */
    struct display *display;         /* while leased; owned */
    struct retired_display *retired; /* lost ones that somebody is still inside of; reopen.c */
    bool reopening;                  /* a thread is opening another display */
    int64_t reopen_failed_ms;        /* monotonic, when that last went wrong; 0 */
    int users;                       /* calls inside the display */
    bool acting;                     /* a thread is ending the guest now */
    bool cancelled;                  /* the create under way is to give up */
    bool gone;                       /* libvirt said that the domain stopped */
};

struct leases {
    struct leases_options options;
    struct journal journal;
    struct berth *berths;
    size_t count;
    pthread_mutex_t mutex; /* guards parked, stopping and who takes which berth */
    bool parked;
    bool stopping;
    pthread_t keeper;
    bool keeper_started;
    pthread_cond_t keeper_wake; /* with mutex */
    bool keeper_due;            /* something changed that the keeper must look at */
};

/* Changes the state and tells everybody who waits. With berth.mutex held. */
void berth_enter(struct berth *berth, enum berth_state state, const char *phase);

/* Makes the berth free for the next lease (empty or failed), and gives up its hold on the hypervisor. */
void berth_leave(struct leases *leases, struct berth *berth, enum berth_state state);

/*
 * Starts a guest for the berth's record and returns when it is usable; `display` is then open. The berth is
 * preparing and this thread its owner. On failure nothing of the guest remains. Shows its phases on the
 * berth.
 */
int berth_bring_up(struct leases *leases, struct berth *berth, struct display **display, struct error *err);

/* Opens a session with the display of the berth's guest. *Owned*: display_close(). */
struct display *berth_open_display(struct leases *leases, struct berth *berth, int64_t deadline_ms,
                                   struct error *err);

/*
 * Makes the caller a user of the berth's display: it stays open until berth_leave_display(). With berth.mutex
 * held, while leased. *Borrowed*.
 */
struct display *berth_enter_display(struct berth *berth);
void berth_leave_display(struct berth *berth, struct display *display);

/*
 * Opens the display again where the session has been lost while the guest lives, and makes the caller, who
 * is a user of *display, a user of the new one. Bounded; callers share one try. Without locks held. On
 * failure *display is as it was.
 */
int berth_reopen_display(struct leases *leases, struct berth *berth, struct display **display,
                         struct error *err);

/* Removes whatever there is of the berth's guest: domain (seen to be gone), overlay, console log. */
int berth_take_down(struct leases *leases, struct berth *berth, struct error *err);

/* Occupancy so far, milliseconds. With berth.mutex held, while leased. */
int64_t berth_occupied_ms(const struct berth *berth);

/*
 * Ends the lease in a berth that is leased or ending; see leases_end(). Called without locks; waits for
 * another thread that is ending it already.
 */
int berth_end(struct leases *leases, struct berth *berth, const char *id, enum lease_reason reason,
              struct lease_receipt *receipt, struct error *err);

/* The thread that ends what expired or died and stamps the journal; it sleeps while no lease is live. */
int keeper_start(struct leases *leases, struct error *err);
void keeper_wake(struct leases *leases);

/* Cleans up after an earlier run; see leases_open(). */
int leases_recover(struct leases *leases, struct error *err);

#endif
