/* What the display of a berth reaches in its guest beside keyboard and pointer, and whether the guest runs.
 */
#include <string.h>

#include "base/clock.h"
#include "guest/agent.h"
#include "guest/guest.h"
#include "guest/helper.h"
#include "guest/watcher.h"
#include "lease/berth.h"

enum { STATE_TIMEOUT_MS = 5000 };

void berth_set_paused(struct berth *berth, const char *why)
{
    LOCK_SCOPE(&berth->mutex);
    berth->paused = why;
    if (berth->display)
        display_set_paused(berth->display, why);
}

/* Takes libvirt's word for whether the guest runs. */
static void refresh_paused(struct berth *berth)
{
    struct error ignored = ERROR_INIT;
    enum guest_state state;
    struct guest guest = berth_guest_now(berth);
    if (guest_state(&guest, STATE_TIMEOUT_MS, &state, &ignored) < 0)
        return;
    berth_set_paused(berth, state == GUEST_PAUSED            ? GUEST_WHY_PAUSED
                            : state == GUEST_PAUSED_IO_ERROR ? GUEST_WHY_IO_ERROR
                                                             : NULL);
}

void berth_ask_paused(struct berth *berth)
{
    pthread_mutex_lock(&berth->mutex);
    bool paused = berth->paused;
    pthread_mutex_unlock(&berth->mutex);
    if (paused)
        refresh_paused(berth);
}

/* An agent that does not answer may be one whose guest stands, of which no event came. */
static int confirm(void *context, int64_t deadline_ms, struct error *err)
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

static int type(void *context, const char *text, size_t size, const struct cancel *cancel,
                int64_t deadline_ms, size_t *typed, struct error *err)
{
    struct guest guest = berth_guest_now(context);
    return guest_helper_type(&guest, text, size, is_cancelled, (void *)(uintptr_t)cancel, deadline_ms, typed,
                             err);
}

static int click(void *context, struct action_point at, enum action_button button, int count,
                 int64_t deadline_ms, struct error *err)
{
    struct guest guest = berth_guest_now(context);
    return guest_helper_click(&guest, (uint32_t)at.x, (uint32_t)at.y,
                              button == BUTTON_BACK ? HELPER_BACK : HELPER_FORWARD, count, deadline_ms, err);
}

static int scroll(void *context, struct action_point at, int32_t dx, int64_t deadline_ms, struct error *err)
{
    struct guest guest = berth_guest_now(context);
    return guest_helper_scroll(&guest, (uint32_t)at.x, (uint32_t)at.y, dx, deadline_ms, err);
}

struct display_helper berth_assist(struct berth *berth, bool helper)
{
    return (struct display_helper){
        .context = berth,
        .confirm = confirm,
        .type = helper ? type : NULL,
        .click = helper ? click : NULL,
        .scroll = helper ? scroll : NULL,
    };
}
