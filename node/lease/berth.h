/*
 * One berth and the way of a guest through it. Private to lease/.
 *
 *     empty -> preparing -> ready -> preparing -> leased -> ending -> empty
 *                 |  |        |          ^
 *                 |  |        +----------|---> ending -> empty      stale, dead, or not wanted any more
 *                 |  +-------------------+                          a cold guest, or a create that waited
 *                 +-- failure: undone -----> failed, the reason kept
 *
 * Ready is a guest that no tenant has touched, prepared by the keeper for whoever comes next (spare.c); the
 * create that takes it passes through preparing again. Preparing says in `spare` whether it is for nobody
 * yet.
 *
 * Lock order: leases.mutex, then berth.mutex. Neither is held over a call to libvirt, the display, the disk
 * or the journal: a step takes the lock, changes the state, lets go, acts, and takes it again to say how it
 * went. The state itself keeps others out meanwhile: only the thread that set preparing or ending acts on the
 * berth.
 */
#ifndef BERTHOS_LEASE_BERTH_H
#define BERTHOS_LEASE_BERTH_H

#include "image/image.h"
#include "lease/journal.h"
#include "lease/leases.h"
#include "view/view.h"

enum berth_state { BERTH_EMPTY, BERTH_PREPARING, BERTH_READY, BERTH_LEASED, BERTH_ENDING, BERTH_FAILED };

/* A usable guest, as far as it is not the domain itself. */
struct berth_desktop {
    struct image *image;     /* that it was started from; owned */
    struct display *display; /* owned; NULL while it is saved on disk */
};

/* A guest that waits for a lease; see spare.c. */
struct spare {
    const char *how; /* static: "ram", paused; "disk", saved; NULL: there is none */
    struct lease_shape shape;
    struct berth_desktop guest;
    int64_t since_ms; /* monotonic: when it got ready */
};

struct berth {
    struct leases *leases; /* that it is one of */
    int n;
    char name[GUEST_NAME_SIZE];
    char *overlay;     /* path */
    char *console_log; /* path */

    pthread_mutex_t mutex;  /* guards all below */
    pthread_cond_t changed; /* state, users or acting changed */
    /* Its UUID is always the same. Who sets preparing or ending alone notes and acts on its run; everybody
     * else acts by a copy: berth_guest_now(). */
    struct guest guest;
    enum berth_state state;
    const char *phase; /* static */
    int64_t since_ms;  /* monotonic */
    char reason[256];
    struct journal_record record;    /* while preparing, leased or ending */
    int64_t since_boot_ms;           /* boottime: occupancy runs from here while leased */
    int64_t expires_boot_ms;         /* boottime; CLOCK_NEVER = does not expire */
    struct holds *holds;             /* what is held down on its guest; owned, for the life of the berth */
    struct display *display;         /* while leased; owned */
    struct retired_display *retired; /* lost ones that somebody is still inside of; berth_display.c */
    bool reopening;                  /* a thread is opening another display */
    int64_t reopen_failed_ms;        /* monotonic, when that last went wrong; 0 */
    const char *paused;              /* why its guest's CPUs stand, static; NULL while they run */
    bool agent_silent;               /* its guest's agent did not answer when it was asked last */
    struct berth_view *view;         /* while leased; owned */
    int users;                       /* calls inside the display */
    bool acting;                     /* a thread is ending the guest now */
    bool cancelled;                  /* the create or preparation under way is to give up */
    bool for_nobody;                 /* preparing: it is for nobody yet */
    int awaited;                     /* creates that wait for the spare guest */
    struct spare spare;              /* while ready, and while a create takes it over */
    int failures;                    /* preparations that went wrong in a row */
    int64_t prepare_ms;              /* monotonic: the keeper prepares no guest before */
};

struct leases {
    struct leases_options options;
    struct journal journal;
    char *verified; /* path of the verified-once cache; owned */
    char *golden;   /* folder of the golden states; owned */
    struct berth *berths;
    size_t count;          /* of berths */
    size_t offered;        /* the first so many take new leases */
    pthread_mutex_t mutex; /* guards parked, stopping and who takes which berth */
    enum config_warm warm; /* how guests are prepared; fixed */
    bool parked;
    bool stopping;
    int jobs;             /* threads of the keeper that end a lease or prepare a guest */
    int64_t compacted_ms; /* monotonic: when the journal was compacted last */
    pthread_t keeper;
    bool keeper_started;
    pthread_cond_t keeper_wake; /* with mutex */
    bool keeper_due;            /* something changed that the keeper must look at */
};

/* Changes the state and tells everybody who waits. With berth.mutex held. */
void berth_enter(struct berth *berth, enum berth_state state, const char *phase);

/* What guests are made from: the verified image, and what the hypervisor has today. */
struct berth_source {
    struct image *image; /* owned */
    struct hypervisor_facts facts;
    char label[GUEST_LABEL_SIZE]; /* of the berth's QEMU; see guest_label() */
    bool own_uid;
};

/* ERROR_INELIGIBLE for the image, ERROR_HYPERVISOR. To be cleared either way. */
int berth_source_open(const struct berth *berth, struct berth_source *source, struct error *err);
void berth_source_clear(struct berth_source *source);

/* The domain of the berth's record. Borrows from all three. */
void berth_spec(const struct berth *berth, const struct berth_source *source, struct guest_spec *spec);

/*
 * The berth's golden state (image/golden.h): whether it may be used for guests of this source and of the
 * record's shape. ERROR_NOT_FOUND, or ERROR_IMAGE with what differs.
 */
int berth_check_golden(const struct berth *berth, const struct berth_source *source, struct error *err);

/* Makes the golden state of the berth's guest, which was booted from `image`, has settled, and goes with it.
 */
int berth_save_golden(struct berth *berth, const struct image *image, struct error *err);

/* Starts the record's guest from the golden state; as berth_boot(). A golden state that fails is dropped.
 */
int berth_restore(struct berth *berth, struct berth_desktop *guest, struct error *err);

/* Removes golden states that no berth will use. */
int leases_sweep_golden(struct leases *leases, struct error *err);

/*
 * Starts a guest for the berth's record and returns when it is usable. The berth is preparing and this thread
 * its owner. What is there after a failure berth_undo() takes away. Shows its phases on the berth. *guest is
 * *owned*: berth_desktop_clear().
 */
int berth_boot(struct berth *berth, struct berth_desktop *guest, struct error *err);

/* Closes the display, which nobody else knows of, and frees. An empty one is fine. */
void berth_desktop_clear(struct berth_desktop *guest);
#define CLEANUP_DESKTOP CLEANUP(berth_desktop_clear)

/* Shows the next phase; fails when the create was cancelled meanwhile. phase: static. */
int berth_enter_phase(struct berth *berth, const char *phase, struct error *err);

/*
 * Takes a berth for a create of this shape: one with a guest prepared for it, else one whose guest is just
 * being prepared (it waits for that), else a free one. What is prepared stays in berth->spare for
 * spare_claim(). NULL with ERROR_UNPARKED, ERROR_LEASE_LIVE, what lease_request_check() says, or
 * ERROR_GUEST_FAILED. The record then belongs to this thread.
 */
struct berth *berth_take(struct leases *leases, const struct lease_request *request,
                         const struct lease_shape *shape, struct error *err);

/* Makes the berth, which is free or ready, this thread's, to prepare a guest for a lease or for nobody yet.
 * With berth.mutex held. */
void berth_begin(struct berth *berth, bool for_nobody);

/* Whether a berth that is not free has, or may have, a domain: one that is ready on the disk has none. */
bool berth_has_domain(const struct berth *berth);

/* Makes what is prepared there for the next create. With berth.mutex held, while preparing. */
void berth_enter_ready(struct berth *berth);

/* Puts a berth back that berth_take() gave: ready again, or empty. */
void berth_put_back(struct berth *berth);

/* Waits, bounded, where every berth is taken but one of them is being freed. */
void berth_await_ending(struct leases *leases);

/* Whether the guest that is prepared in the berth has this shape. The berth is this thread's. */
bool berth_is_prepared(const struct berth *berth, const struct lease_shape *shape);

/*
 * Makes the prepared guest that of the berth's record: it runs, and *guest is usable, *owned*. On failure
 * nothing of it is left, berth->spare is empty, and the caller may bring a guest up.
 */
int spare_claim(struct berth *berth, struct berth_desktop *guest, struct error *err);

/* Sets the clock of the guest of the berth's record, on a thread of its own: one that stood still is behind,
 * and one that booted under load may be wrong as well. The berth is this thread's. */
void berth_set_clock(struct berth *berth);

/* Takes the prepared guest away. The berth is this thread's (preparing). */
int spare_drop(struct berth *berth, struct error *err);

/*
 * Looks after a berth that holds no lease: prepares a guest where there is to be one, and replaces one that
 * is dead, stale or not wanted. Returns the monotonic time at which it must be looked at again. For the
 * keeper.
 */
int64_t spare_look_after(struct berth *berth);

/* Runs work(job) on a thread of its own, which leases_stop() waits for; job is freed after it. */
struct berth_job {
    struct berth *berth;
    struct guest guest; /* of the berth when the job was made */
    enum lease_reason reason;
    char id[LEASE_ID_SIZE];
};
void keeper_start_job(const char *name, void (*work)(const struct berth_job *job),
                      const struct berth_job *job);

/* A lease's guest view, and what it reaches the lease by. */
struct berth_view {
    struct view *view; /* owned */
    struct berth *berth;
    struct guest guest; /* its run, of which the view gives out displays */
    char id[LEASE_ID_SIZE];
};

/* Opens the view of the lease that a berth is about to hold. *Owned*: berth_view_end(), berth_view_free(). */
struct berth_view *berth_view_open(struct berth *berth, const struct journal_record *record,
                                   int64_t expires_boot_ms, struct error *err);

/* Sends the viewers away and closes the listener. Called without locks. view may be NULL in both. */
void berth_view_end(struct berth_view *view, enum lease_reason reason);

/* Frees it, when nobody is inside the display any more. */
void berth_view_free(struct berth_view *view);

/* Opens a session with the display of the berth's guest. *Owned*: display_close(). */
struct display *berth_open_display(struct berth *berth, int64_t deadline_ms, struct error *err);

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
int berth_reopen_display(struct berth *berth, struct display **display, struct error *err);

/* Whether libvirt says that the berth's guest is not there any more; false when it does not answer. */
bool berth_guest_is_gone(struct berth *berth);

/* Removes whatever there is of the berth's guest: domain (seen to be gone), overlay, console log. */
int berth_take_down(struct berth *berth, struct error *err);

/* The display's users are woken and waited for; then nobody else can reach it, and it is closed. */
void berth_close_display(struct berth *berth);

/*
 * Takes up the live lease of an earlier run, whose guest is there, in an empty berth that nobody else knows
 * of yet. On failure nothing of the guest was changed but that it may run.
 */
int berth_adopt(struct berth *berth, const struct journal_record *left, struct error *err);

/* For a clean stop: pauses the guest of a live lease, journals that, and leaves it to the next start. */
void berth_leave_standing(struct berth *berth);

/*
 * What the hands of the berth's display can ask of its guest through the agent; its context is the berth's.
 * helper: whether the image has the input helper.
 */
struct display_helper berth_assist(struct berth *berth, bool helper);

/* The berth's guest as of now. Without the lock. */
struct guest berth_guest_now(struct berth *berth);

/* Notes which run the berth's guest is; GUEST_ANY_RUN: none. For the thread that the berth is preparing or
 * ending for. */
void berth_note_run(struct berth *berth, int run);

/* The guest's CPUs stand (why: static) or run again (NULL): tells its display, and /v1/node. */
void berth_set_paused(struct berth *berth, const char *why);

/* Asks libvirt whether a guest that is taken for paused still is: an event may have been lost. */
void berth_ask_paused(struct berth *berth);

/*
 * Undoes a create or a preparation, for the thread that the berth is preparing for: nothing of its guest
 * remains, then its record goes and the berth is free (failed where there is a reason, given here or before).
 * Where the guest does not go the berth is ending, and the keeper tries again.
 */
void berth_undo(struct berth *berth, const char *why);

/* The same for a berth that is ending because its guest did not go; nothing where it is not, or where another
 * thread is at it. */
void berth_undo_again(struct berth *berth);

/*
 * The berth whose lease (live or ending) has this id, with its mutex held; NULL when there is none that the
 * grant reaches. leases_no_such() says so: ERROR_NOT_FOUND, -1.
 */
struct berth *leases_lock(struct leases *leases, const char *id, const struct pairing_grant *grant);
int leases_no_such(struct error *err);

/* The document of the berth's live lease. With berth.mutex held. */
void berth_describe(const struct berth *berth, struct lease_document *lease);

/*
 * Makes a create that is under way give up: its guest is taken from under it. id: of the lease that is being
 * made, or NULL for whichever it is. Returns when it has, true when there was one to cancel.
 */
bool berth_cancel_create(struct berth *berth, const char *id);

/* Occupancy so far, milliseconds. With berth.mutex held, while leased. */
int64_t berth_occupied_ms(const struct berth *berth);

/*
 * Ends the lease in a berth that is leased or ending; see leases_end(). Called without locks; waits for
 * another thread that is ending it already.
 */
int berth_end(struct berth *berth, const char *id, enum lease_reason reason, struct lease_receipt *receipt,
              struct error *err);

/* The thread that ends what expired or died, stamps the journal and sees to prepared guests; it sleeps while
 * there is nothing to do. */
int keeper_start(struct leases *leases, struct error *err);
void keeper_wake(struct leases *leases);

/* Cleans up after an earlier run; see leases_open(). */
int leases_recover(struct leases *leases, struct error *err);

#endif
