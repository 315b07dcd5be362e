#include "display/input.h"

#include <stdio.h>

#include "base/clock.h"
#include "display/display_inside.h"
#include "display/keyboard.h"
#include "display/perform.h"
#include "display/pointer.h"

void input_open(struct input_state *input, struct session *session, const struct display_helper *helper,
                struct holds *holds)
{
    input->session = session;
    if (helper)
        input->helper = *helper;
    if (!holds)
        holds = input->own_holds = holds_new();
    input->holds = holds;
    input->holder = holds_join(holds);
}

void input_close(struct input_state *input)
{
    holds_leave(input->holder);
    holds_free(input->own_holds);
}

/* Posts what releases something. A dead session has nothing left to release. */
static void post_release(struct input_state *input, const unsigned char *bytes, size_t size, bool buttons)
{
    struct error ignored;
    uint64_t ping = size > 0 ? session_post(input->session, bytes, size, &ignored) : 0;
    if (ping > 0 && buttons)
        input->move_ping = ping;
}

void input_inherit(struct input_state *input)
{
    unsigned char bytes[2 * POINTER_BYTES];
    uint8_t left = holds_inherit(input->holds);
    if (!left)
        return;
    size_t size = pointer_set(input, left, bytes);
    size += pointer_set(input, 0, bytes + size);
    post_release(input, bytes, size, true);
}

void input_release(struct input_state *input)
{
    unsigned char bytes[HOLDS_KEYS_MAX * KEYBOARD_BYTES + POINTER_BYTES];
    uint32_t keys[HOLDS_KEYS_MAX];
    uint8_t buttons;
    size_t count = holds_mine(input->holder, keys, &buttons);
    input->owing = input->paused[0] && (count > 0 || buttons);
    if (input->owing)
        return;
    size_t size = keyboard_release(input, keys, count, bytes);
    if (buttons)
        size += pointer_set(input, 0, bytes + size);
    post_release(input, bytes, size, buttons);
}

void display_set_paused(struct display *display, const char *why)
{
    struct input_state *input = &display->input;
    LOCK_SCOPE(&display->session.mutex);
    snprintf(input->paused, sizeof input->paused, "%s", why ? why : "");
    input->due_us = clock_monotonic_us() + KEY_US; /* the timer stood with the guest */
    if (!why && input->owing)
        input_release(input);
    pthread_cond_broadcast(&display->session.changed);
}

/* What a caller's cancel wakes: every wait of ours, and the guest's helper. */
struct waking {
    struct session *session;
    struct cancel *stop;
};

static void wake_turn(void *context)
{
    struct waking *waking = context;
    cancel_fire(waking->stop);
    LOCK_SCOPE(&waking->session->mutex);
    pthread_cond_broadcast(&waking->session->changed);
}

/* From the turn's beginning to its end, with the mutex held before and after. */
static int perform_all(struct turn *turn, const struct display_request *request, struct cancel *stop,
                       struct display_outcome *outcome, struct error *err)
{
    struct session *session = turn->session;
    outcome->sequence = session->sequence;
    outcome->began_ms = clock_monotonic_ms();
    turn->input->stop = stop;
    pthread_mutex_unlock(&session->mutex);
    bool failed = false;
    while (!failed && turn->done < request->count) {
        failed = perform_action(turn, &request->actions[turn->done], err) < 0;
        holds_press(turn->input->holds, false);
        turn->done += !failed;
    }
    proof_join(turn);
    pthread_mutex_lock(&session->mutex);
    turn->input->stop = NULL;
    if (failed)
        input_release(turn->input);
    outcome->ended_ms = session->acted_ms = clock_monotonic_ms();
    return failed ? -1 : 0;
}

/* Before the first is done. */
static int check_all(const struct turn *turn, const struct display_request *request, struct error *err)
{
    for (size_t i = 0; i < request->count; i++)
        if (perform_check(turn, &request->actions[i], err) < 0)
            return request->count > 1 ? error_prefix(err, "nothing was done because of action %zu", i) : -1;
    return 0;
}

int display_perform(struct display *display, const struct display_request *request, struct cancel *cancel,
                    int64_t deadline_ms, struct display_outcome *outcome, struct error *err)
{
    struct session *session = &display->session;
    struct turn turn = {.input = &display->input,
                        .session = session,
                        .cancel = cancel,
                        .deadline_ms = deadline_ms,
                        .frame_width = request->frame_width,
                        .frame_height = request->frame_height};
    *outcome = (struct display_outcome){.pointer_x = -1, .pointer_y = -1};
    if (check_all(&turn, request, err) < 0)
        return -1;
    CLEANUP(cleanup_cancel) struct cancel *stop = cancel_new();
    struct waking waking = {session, stop};
    cancel_listen(cancel, wake_turn, &waking);
    pthread_mutex_lock(&session->mutex);
    int performed = turn_take(&turn, err);
    if (performed == 0)
        performed = perform_all(&turn, request, stop, outcome, err);
    turn_leave(&turn);
    outcome->done = turn.done;
    outcome->width = turn.width ? turn.width : session->width;
    outcome->height = turn.height ? turn.height : session->height;
    holds_position(display->input.holds, &outcome->pointer_x, &outcome->pointer_y);
    pthread_mutex_unlock(&session->mutex);
    cancel_unlisten(cancel);
    return performed;
}
