/*
 * Who uses a berth's display, and opening it again when its session is lost while the lease lives: QEMU has
 * thrown us out (another client asked to be alone), or did not answer for so long that it was given up.
 *
 * A lost session is taken from the berth at once, but closed only when the last caller who is still inside
 * has come out; all calls in it fail by themselves, so that is soon. A lease that was adopted without a
 * display gets one in the same way.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "lease/berth.h"

/* How long a try may take, and for how long its failure stands for the next callers too. */
enum { REOPEN_MS = 4000, REOPEN_AGAIN_MS = 1000 };

struct retired_display {
    struct retired_display *next;
    struct display *display; /* owned */
    int users;
};

struct display *berth_enter_display(struct berth *berth)
{
    berth->users++;
    return berth->display;
}

/* Takes a user away; returns the display when it is to be closed now. With berth.mutex held. *Owned*. */
static struct display *leave(struct berth *berth, const struct display *display)
{
    struct retired_display **link = &berth->retired;
    while (*link && (*link)->display != display)
        link = &(*link)->next;
    struct retired_display *retired = *link;
    if (!retired) {
        if (--berth->users == 0)
            pthread_cond_broadcast(&berth->changed);
        return NULL;
    }
    if (--retired->users > 0)
        return NULL;
    struct display *done = retired->display;
    *link = retired->next;
    free(retired);
    pthread_cond_broadcast(&berth->changed);
    return done;
}

void berth_leave_display(struct berth *berth, struct display *display)
{
    pthread_mutex_lock(&berth->mutex);
    struct display *done = leave(berth, display);
    pthread_mutex_unlock(&berth->mutex);
    if (done)
        display_close(done);
}

/* Puts a new session in the place of the lost one, which its users keep. With berth.mutex held. */
static void replace(struct berth *berth, struct display *display)
{
    struct retired_display *retired = malloc(sizeof *retired);
    if (!retired)
        abort();
    *retired = (struct retired_display){berth->retired, berth->display, berth->users};
    berth->retired = retired;
    berth->display = display;
    berth->users = 0;
}

/* Opens another session while everybody else waits. With berth.mutex held, but not meanwhile. */
static int try_again(struct berth *berth, const char *why, struct error *err)
{
    berth->reopening = true;
    pthread_mutex_unlock(&berth->mutex);
    struct display *display = berth_open_display(berth, clock_deadline(REOPEN_MS), err);
    log_warning("lease", "%s: %s; %s", berth->name, why, display ? "the display is opened again" : err->text);
    pthread_mutex_lock(&berth->mutex);
    berth->reopening = false;
    berth->reopen_failed_ms = display ? 0 : clock_monotonic_ms();
    pthread_cond_broadcast(&berth->changed);
    if (!display)
        return -1;
    if (berth->state == BERTH_LEASED) {
        display_set_paused(display, berth->paused);
        replace(berth, display);
        return 0;
    }
    pthread_mutex_unlock(&berth->mutex); /* the lease has ended meanwhile */
    display_close(display);
    pthread_mutex_lock(&berth->mutex);
    return 0;
}

/* With berth.mutex held, but not meanwhile. `lost`: the session that the caller found lost, and why. */
static int reopen(struct berth *berth, const struct display *lost, const char *why, struct error *err)
{
    while (berth->reopening)
        sync_cond_wait(&berth->changed, &berth->mutex, CLOCK_NEVER);
    if (berth->display == lost) {
        int64_t failed_ms = berth->reopen_failed_ms;
        if (failed_ms && clock_monotonic_ms() - failed_ms < REOPEN_AGAIN_MS)
            return error_set(err, ERROR_GUEST_FAILED, "it could not be opened again a moment ago");
        if (try_again(berth, why, err) < 0)
            return -1;
    }
    return berth->display ? 0 : error_set(err, ERROR_NOT_FOUND, "the lease has ended");
}

int berth_reopen_display(struct berth *berth, struct display **display, struct error *err)
{
    struct error why = ERROR_INIT;
    if (!*display)
        error_set(&why, ERROR_GUEST_FAILED, "the guest's display is not open");
    else if (!display_lost(*display, &why))
        return 0;
    pthread_mutex_lock(&berth->mutex);
    int opened = reopen(berth, *display, why.text, err);
    struct display *done = NULL;
    if (opened == 0) {
        done = leave(berth, *display);
        *display = berth_enter_display(berth);
    }
    pthread_mutex_unlock(&berth->mutex);
    if (done)
        display_close(done);
    if (opened < 0 && err->code != ERROR_NOT_FOUND)
        error_prefix(err, "%.400s", why.text);
    return opened;
}
