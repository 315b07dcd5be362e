/* What the hands of a session have in common: waiting, proof that the guest has what was sent, release. */
#include "display/hands.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/sync.h"
#include "display/session.h"

#define CONFIRM_MS 10000 /* how long an agent may owe its answer */
#define RETRY_US   100000
#define ECHO_MS    30000 /* how long QEMU may take over one message while it does say something */

void hands_open(struct display *display, const struct display_helper *assist, struct holds *holds)
{
    struct hands *hands = &display->hands;
    if (assist)
        hands->assist = *assist;
    if (!holds)
        holds = hands->own_holds = holds_new();
    hands->holds = holds;
    hands->holder = holds_join(holds);
}

void hands_close(struct display *display)
{
    if (display->hands.holder)
        holds_leave(display->hands.holder);
    holds_free(display->hands.own_holds);
}

void hands_inherit(struct display *display)
{
    unsigned char bytes[2 * HANDS_POINTER_BYTES];
    struct error ignored;
    uint8_t left = holds_inherit(display->hands.holds);
    if (!left)
        return;
    size_t size = pointer_set(display, left, bytes);
    size += pointer_release(display, bytes + size);
    uint64_t ping = session_post(display, bytes, size, &ignored);
    if (ping > 0)
        display->hands.move_ping = ping;
}

void hands_release(struct display *display)
{
    unsigned char bytes[HOLDS_KEYS_MAX * HANDS_KEY_BYTES + HANDS_POINTER_BYTES];
    uint32_t keys[HOLDS_KEYS_MAX];
    uint8_t buttons;
    size_t count = holds_mine(display->hands.holder, keys, &buttons);
    display->hands.owing = display->hands.paused[0] && (count > 0 || buttons);
    if (display->hands.owing)
        return;
    size_t size = keyboard_release(display, keys, count, bytes);
    if (buttons)
        size += pointer_release(display, bytes + size);
    struct error ignored; /* a dead session has nothing left to release */
    if (size == 0)
        return;
    uint64_t ping = session_post(display, bytes, size, &ignored);
    if (ping > 0 && buttons)
        display->hands.move_ping = ping;
}

void display_set_paused(struct display *display, const char *why)
{
    LOCK_SCOPE(&display->mutex);
    struct hands *hands = &display->hands;
    snprintf(hands->paused, sizeof hands->paused, "%s", why ? why : "");
    hands->due_us = clock_monotonic_us() + KEY_US; /* the timer stood with the guest */
    if (!why && hands->owing)
        hands_release(display);
    pthread_cond_broadcast(&display->changed);
}

/* --- waiting ------------------------------------------------------------------------------------------- */

int hand_check_wanted(const struct hand *hand, struct error *err)
{
    if (session_check(hand->display, err) < 0)
        return -1;
    if (cancel_fired(hand->cancel))
        return error_set(err, ERROR_CANCELLED,
                         "the caller has gone; what its action held down has been released");
    if (clock_left_ms(hand->deadline_ms) == 0)
        return error_set(err, ERROR_TIMEOUT,
                         "the time for this action is over; what it held down has been released");
    return 0;
}

int hand_check(const struct hand *hand, struct error *err)
{
    const char *paused = hand->display->hands.paused;
    if (hand_check_wanted(hand, err) < 0)
        return -1;
    if (paused[0])
        return error_set(err, ERROR_PAUSED, "the guest is paused, and input would be lost: %s", paused);
    return 0;
}

int hand_hold_until(struct hand *hand, int64_t until_us, bool input, struct error *err)
{
    for (;;) {
        if ((input ? hand_check(hand, err) : hand_check_wanted(hand, err)) < 0)
            return -1;
        if (clock_monotonic_us() >= until_us)
            return 0;
        int64_t next_us = until_us;
        if (hand->deadline_ms < next_us / 1000)
            next_us = hand->deadline_ms * 1000;
        session_sleep_until(hand->display, next_us);
    }
}

int hand_await(struct hand *hand, uint64_t ping, struct error *err)
{
    struct display *display = hand->display;
    int64_t began_ms = clock_monotonic_ms();
    while (display->echoes < ping) {
        if (hand_check(hand, err) < 0)
            return -1;
        int64_t until_ms = clock_deadline(MUTE_MS);
        if (until_ms > hand->deadline_ms)
            until_ms = hand->deadline_ms;
        bool silent = !sync_cond_wait(&display->changed, &display->mutex, until_ms);
        if (!silent || display->echoes >= ping || clock_left_ms(hand->deadline_ms) == 0)
            continue;
        struct error late = ERROR_INIT;
        session_late(display, began_ms, ERROR_GUEST_FAILED, &late);
        if (display->state == SESSION_DEAD || clock_monotonic_ms() - began_ms >= ECHO_MS) {
            *err = late;
            return -1;
        }
    }
    return 0;
}

/* --- proof --------------------------------------------------------------------------------------------- */

/* Asks the agent until it answers. In slices that grow, so that a caller who goes away is noticed. */
static int ask_agent(struct hand *hand, struct error *err)
{
    const struct display_helper *assist = &hand->display->hands.assist;
    int64_t until_ms = clock_deadline(CONFIRM_MS);
    for (int64_t slice_ms = 1000;; slice_ms += 1000) {
        struct error why = ERROR_INIT;
        if (assist->confirm(assist->context, clock_deadline(slice_ms), &why) == 0)
            return 0;
        if (why.code == ERROR_PAUSED || why.code == ERROR_NOT_FOUND) {
            *err = why;
            return -1;
        }
        LOCK_SCOPE(&hand->display->mutex);
        if (clock_left_ms(until_ms) == 0 && hand_check(hand, err) == 0)
            return error_set(err, ERROR_GUEST_FAILED,
                             "the guest does not take input: its agent has not answered for %d s (%s)",
                             CONFIRM_MS / 1000, why.text);
        if (hand_hold_until(hand, clock_monotonic_us() + RETRY_US, true, err) < 0)
            return -1;
    }
}

static void *ask(void *argument)
{
    struct hand *hand = argument;
    struct error err = ERROR_INIT;
    int result = ask_agent(hand, &err);
    LOCK_SCOPE(&hand->display->mutex);
    hand->question.result = result;
    hand->question.err = err;
    hand->question.answered = true;
    pthread_cond_broadcast(&hand->display->changed);
    return NULL;
}

static void take(struct hands *hands, uint64_t keys, uint64_t moves)
{
    hands->keys_taken = keys > hands->keys_taken ? keys : hands->keys_taken;
    hands->moves_taken = moves > hands->moves_taken ? moves : hands->moves_taken;
}

int hand_ask(struct hand *hand, struct error *err)
{
    struct hands *hands = &hand->display->hands;
    struct hand_question *question = &hand->question;
    uint64_t keys = hands->keys_delivered;
    uint64_t moves = hand->display->echoes >= hands->move_ping ? hands->moves_sent : hands->moves_taken;
    if (!hands->assist.confirm)
        take(hands, keys, moves);
    if (question->asked || (keys <= hands->keys_taken && moves <= hands->moves_taken))
        return 0;
    *question = (struct hand_question){.keys = keys, .moves = moves};
    if (sync_thread_start(&question->thread, "display-ask", ask, hand, err) < 0)
        return -1;
    question->asked = true;
    return 0;
}

int hand_hear(struct hand *hand, struct error *err)
{
    struct hand_question *question = &hand->question;
    if (!question->answered)
        return 0;
    pthread_join(question->thread, NULL); /* all that it still does is to let go of the mutex, as it has */
    question->asked = question->answered = false;
    if (question->result < 0) {
        *err = question->err;
        return -1;
    }
    take(&hand->display->hands, question->keys, question->moves);
    return 0;
}

void hand_join(struct hand *hand)
{
    if (hand->question.asked)
        pthread_join(hand->question.thread, NULL);
    hand->question.asked = false;
}

int hand_prove(struct hand *hand, struct error *err)
{
    struct display *display = hand->display;
    struct hands *hands = &display->hands;
    LOCK_SCOPE(&display->mutex);
    if (hand_await(hand, hands->move_ping, err) < 0)
        return -1;
    for (;;) {
        if (hand_check(hand, err) < 0 || hand_hear(hand, err) < 0)
            return -1;
        if (hands->keys_taken >= hands->keys_delivered && hands->moves_taken >= hands->moves_sent)
            return 0;
        if (hand_ask(hand, err) < 0)
            return -1;
        if (hand->question.asked && !hand->question.answered)
            sync_cond_wait(&display->changed, &display->mutex, hand->deadline_ms);
    }
}

int hand_settle(struct hand *hand, struct error *err)
{
    return keyboard_drain(hand, err) < 0 ? -1 : hand_prove(hand, err);
}
