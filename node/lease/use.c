/* Looking at a lease's guest and acting on it. */
#include "base/clock.h"
#include "lease/berth.h"

/* The live lease's display, kept open until berth_leave_display(). One that was lost is opened again. */
static struct berth *use_display(struct leases *leases, const char *id, const struct pairing_grant *grant,
                                 struct display **display, struct error *err)
{
    struct berth *berth = leases_lock(leases, id, grant);
    bool usable = berth && berth->state == BERTH_LEASED;
    if (usable)
        *display = berth_enter_display(berth);
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    if (!usable) {
        leases_no_such(err);
        return NULL;
    }
    if (berth_reopen_display(berth, display, err) < 0) {
        berth_leave_display(berth, *display);
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
    berth_leave_display(berth, display);
    return picture;
}

int leases_act(struct leases *leases, const char *id, const struct pairing_grant *grant,
               const struct display_act *act, struct cancel *cancel, struct display_acted *acted,
               struct error *err)
{
    /* 4,000 characters by keys take 160 s, a wait 300: each action has its own bound, and this is only the
     * backstop */
    enum { ACTION_BACKSTOP_MS = 3600 * 1000 };
    struct display *display;
    struct berth *berth = use_display(leases, id, grant, &display, err);
    if (!berth)
        return -1;
    berth_ask_paused(berth);
    int done = display_act(display, act, cancel, clock_deadline(ACTION_BACKSTOP_MS), acted, err);
    berth_leave_display(berth, display);
    return done;
}
