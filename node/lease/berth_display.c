/*
 * A session is lost while its lease lives when QEMU has thrown us out (another client asked to be alone), or
 * did not answer for so long that it was given up. It is taken from the berth at once, but closed only when
 * the last caller who is still inside has come out; all calls in it fail by themselves, so that is soon. A
 * lease that was adopted without a display gets one in the same way.
 */
#include "lease/berth_display.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sync.h"
#include "guest/agent.h"
#include "guest/helper.h"
#include "guest/watcher.h"
#include "lease/berth.h"
#include "lease/find.h"

enum {
    GRAPHICS_MS = 15000, /* for libvirt's descriptor */
    /* how long a try to open it again may take, and for how long its failure stands for the next callers */
    REOPEN_MS = 4000,
    REOPEN_AGAIN_MS = 1000,
    /* 4,000 characters by keys take 160 s, a wait 300: each action has its own bound, and this is only the
     * backstop */
    ACTION_BACKSTOP_MS = 3600 * 1000,
};

/* --- whether its guest runs ------------------------------------------------------------------------ */

void berth_set_paused(struct berth *berth, const char *why)
{
    LOCK_SCOPE(&berth->mutex);
    berth->paused = why;
    if (berth->display)
        display_set_paused(berth->display, why);
}

void berth_note_state(struct berth *berth, enum guest_state state)
{
    berth_set_paused(berth, state == GUEST_PAUSED            ? GUEST_WHY_PAUSED
                            : state == GUEST_PAUSED_IO_ERROR ? GUEST_WHY_IO_ERROR
                                                             : NULL);
}

/* Asks libvirt: an event may have been lost. */
static void refresh_paused(struct berth *berth)
{
    struct error ignored = ERROR_INIT;
    enum guest_state state;
    struct guest guest = berth_guest_now(berth);
    if (guest_state(&guest, BERTH_ASK_MS, &state, &ignored) == 0)
        berth_note_state(berth, state);
}

static bool is_paused(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    return berth->paused;
}

/* --- what it reaches in the guest ------------------------------------------------------------------ */

/* An agent that does not answer may be one whose guest stands, of which no event came. */
static int confirm_taken(void *context, int64_t deadline_ms, struct error *err)
{
    struct berth *berth = context;
    struct guest guest = berth_guest_now(berth);
    int answered = guest_agent_ping(&guest, clock_left_ms(deadline_ms), err);
    pthread_mutex_lock(&berth->mutex);
    berth->agent_silent = answered < 0;
    pthread_mutex_unlock(&berth->mutex);
    if (answered < 0)
        refresh_paused(berth);
    return answered;
}

static bool is_cancelled(void *context)
{
    return cancel_fired(context);
}

static int type_text(void *context, const char *text, size_t size, const struct cancel *cancel,
                     int64_t deadline_ms, size_t *typed, struct error *err)
{
    struct guest guest = berth_guest_now(context);
    return guest_helper_type(&guest, text, size, is_cancelled, (void *)(uintptr_t)cancel, deadline_ms, typed,
                             err);
}

static int click_button(void *context, struct action_point at, enum action_button button, int count,
                        int64_t deadline_ms, struct error *err)
{
    struct guest guest = berth_guest_now(context);
    return guest_helper_click(&guest, (uint32_t)at.x, (uint32_t)at.y,
                              button == BUTTON_BACK ? HELPER_BACK : HELPER_FORWARD, count, deadline_ms, err);
}

static int turn_wheel(void *context, struct action_point at, int32_t dx, int64_t deadline_ms,
                      struct error *err)
{
    struct guest guest = berth_guest_now(context);
    return guest_helper_scroll(&guest, (uint32_t)at.x, (uint32_t)at.y, dx, deadline_ms, err);
}

/* --- opening and closing --------------------------------------------------------------------------- */

struct display *berth_open_display(struct berth *berth, int64_t deadline_ms, struct error *err)
{
    struct display_helper helper = {.context = berth, .confirm = confirm_taken};
    if (berth->record.helper) {
        helper.type = type_text;
        helper.click = click_button;
        helper.scroll = turn_wheel;
    }
    int left_ms = clock_left_ms(deadline_ms);
    struct guest guest = berth_guest_now(berth);
    int fd = guest_open_display(&guest, left_ms < GRAPHICS_MS ? left_ms : GRAPHICS_MS, err);
    return fd < 0 ? NULL
                  : display_open(fd, &helper, berth->holds, berth->leases->pictures,
                                 clock_left_ms(deadline_ms), err);
}

void berth_close_display(struct berth *berth)
{
    pthread_mutex_lock(&berth->mutex);
    struct display *display = TAKE(berth->display);
    if (display)
        display_shutdown(display);
    while (berth->users > 0 || berth->retired)
        sync_cond_wait(&berth->changed, &berth->mutex, CLOCK_NEVER);
    pthread_mutex_unlock(&berth->mutex);
    if (display)
        display_close(display);
}

/* --- its users ------------------------------------------------------------------------------------- */

struct retired_display {
    struct retired_display *next;
    struct display *display; /* owned */
    int users;
};

/* Takes a user away; returns the display when it is to be closed now. With berth.mutex held. *Owned*. */
static struct display *take_leave(struct berth *berth, const struct display *display)
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

static void leave_display(struct berth *berth, struct display *display)
{
    pthread_mutex_lock(&berth->mutex);
    struct display *done = take_leave(berth, display);
    pthread_mutex_unlock(&berth->mutex);
    if (done)
        display_close(done);
}

/* Puts a new session in the place of the lost one, which its users keep. With berth.mutex held. */
static void replace_display(struct berth *berth, struct display *display)
{
    struct retired_display *retired = memory_new(sizeof *retired);
    *retired = (struct retired_display){berth->retired, berth->display, berth->users};
    berth->retired = retired;
    berth->display = display;
    berth->users = 0;
}

/* Opens another session while everybody else waits. With berth.mutex held, but not meanwhile. */
static int open_anew(struct berth *berth, const char *why, struct error *err)
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
        replace_display(berth, display);
        return 0;
    }
    pthread_mutex_unlock(&berth->mutex); /* the lease has ended meanwhile */
    display_close(display);
    pthread_mutex_lock(&berth->mutex);
    return 0;
}

/* With berth.mutex held, but not meanwhile. `lost`: the session that the caller found lost, and why. */
static int replace_lost(struct berth *berth, const struct display *lost, const char *why, struct error *err)
{
    while (berth->reopening)
        sync_cond_wait(&berth->changed, &berth->mutex, CLOCK_NEVER);
    if (berth->display == lost) {
        int64_t failed_ms = berth->reopen_failed_ms;
        if (failed_ms && clock_monotonic_ms() - failed_ms < REOPEN_AGAIN_MS)
            return error_set(err, ERROR_GUEST_FAILED, "it could not be opened again a moment ago");
        if (open_anew(berth, why, err) < 0)
            return -1;
    }
    return berth->display ? 0 : error_set(err, ERROR_NOT_FOUND, "the lease has ended");
}

/*
 * Opens the display again where the session has been lost while the guest lives, and makes the caller, who
 * is a user of *display, a user of the new one. Bounded; callers share one try. Without locks held. On
 * failure *display is as it was.
 */
static int reopen_display(struct berth *berth, struct display **display, struct error *err)
{
    struct error why = ERROR_INIT;
    if (!*display)
        error_set(&why, ERROR_GUEST_FAILED, "the guest's display is not open");
    else if (!display_lost(*display, &why))
        return 0;
    pthread_mutex_lock(&berth->mutex);
    int opened = replace_lost(berth, *display, why.text, err);
    struct display *done = NULL;
    if (opened == 0) {
        done = take_leave(berth, *display);
        berth->users++;
        *display = berth->display;
    }
    pthread_mutex_unlock(&berth->mutex);
    if (done)
        display_close(done);
    if (opened < 0 && err->code != ERROR_NOT_FOUND)
        error_prefix(err, "%.400s", why.text);
    return opened;
}

/* The live lease's display, kept open until leave_display(). One that was lost is opened again. */
static struct berth *use_display(struct leases *leases, const char *id, const struct pairing_grant *grant,
                                 struct display **display, struct error *err)
{
    struct berth *berth = leases_lock(leases, id, grant);
    bool usable = berth && berth->state == BERTH_LEASED;
    if (usable) {
        berth->users++;
        *display = berth->display;
    }
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    if (!usable) {
        leases_no_such(err);
        return NULL;
    }
    if (reopen_display(berth, display, err) < 0) {
        leave_display(berth, *display);
        return NULL;
    }
    return berth;
}

struct picture *leases_screenshot(struct leases *leases, const char *id, const struct pairing_grant *grant,
                                  const struct picture_request *request, struct cancel *cancel,
                                  struct error *err)
{
    struct display *display;
    struct berth *berth = use_display(leases, id, grant, &display, err);
    if (!berth)
        return NULL;
    struct picture *picture = display_screenshot(display, request, cancel, err);
    leave_display(berth, display);
    return picture;
}

int leases_act(struct leases *leases, const char *id, const struct pairing_grant *grant,
               const struct display_act *act, struct cancel *cancel, struct display_acted *acted,
               struct error *err)
{
    struct display *display;
    struct berth *berth = use_display(leases, id, grant, &display, err);
    if (!berth)
        return -1;
    if (is_paused(berth))
        refresh_paused(berth);
    int done = display_act(display, act, cancel, clock_deadline(ACTION_BACKSTOP_MS), acted, err);
    leave_display(berth, display);
    return done;
}
