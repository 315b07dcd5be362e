/* The keyboard of a session: what goes out, and how far QEMU is with it (hands.h). */
#include <string.h>

#include "base/clock.h"
#include "display/scancode.h"
#include "display/session.h"
#include "protocol/key_names.h"

#define ENDS_PINGS 4
#define IDLE_US    1000000 /* how long one sleeps at most for an answer that wakes */

static const enum key_modifier modifier_order[] = {MODIFIER_CTRL, MODIFIER_ALT, MODIFIER_SHIFT,
                                                   MODIFIER_SUPER};
#define MODIFIER_KINDS (sizeof modifier_order / sizeof modifier_order[0])

/* QEMU Extended Key Event with keysym 0: by scancode alone, so that no keymap is guessed. */
static void key_bytes(uint8_t scancode, bool down, unsigned char bytes[HANDS_KEY_BYTES])
{
    const unsigned char message[HANDS_KEY_BYTES] = {255, 0, 0, down, 0, 0, 0, 0, 0, 0, 0, scancode};
    memcpy(bytes, message, HANDS_KEY_BYTES);
}

size_t keyboard_release(struct display *display, const uint32_t *keys, size_t count, unsigned char *bytes)
{
    for (size_t i = count; i > 0; i--) {
        key_bytes((uint8_t)keys[i - 1], false, bytes + (count - i) * HANDS_KEY_BYTES);
        holds_key(display->hands.holder, keys[i - 1], false);
    }
    display->hands.keys_sent += count;
    return count * HANDS_KEY_BYTES;
}

/*
 * Sends key events (or none), waits for QEMU to have read them, and learns from the echo what has left its
 * queue; see hands.h. The mutex is held.
 */
static int post(struct hand *hand, const unsigned char *bytes, size_t count, struct error *err)
{
    struct hands *hands = &hand->display->hands;
    int64_t sent_us = clock_monotonic_us();
    uint64_t ping = session_post(hand->display, bytes, count * HANDS_KEY_BYTES, err);
    if (ping == 0)
        return -1;
    bool empty = hands->keys_delivered == hands->keys_sent;
    hands->keys_sent += count;
    if (hand_await(hand, ping, err) < 0)
        return -1;
    /* Either the timer's turn before the last, or nothing was in the way of the first of these. */
    bool due = hands->due_us <= hands->pinged_us;
    if (due && hands->keys_delivered < hands->keys_sent && (count == 0 || empty)) {
        hands->keys_delivered++;
        hands->due_us = clock_monotonic_us() + KEY_US;
    }
    hands->pinged_us = sent_us;
    return 0;
}

/* The timer of QEMU's queue is due: two pings, the second sent by the session's thread when the first is
 * back, prove that it has been served. The mutex is held. */
static int prove_turn(struct hand *hand, struct error *err)
{
    struct display *display = hand->display;
    struct hands *hands = &display->hands;
    int64_t sent_us = clock_monotonic_us();
    uint64_t ping = session_post(display, NULL, 0, err);
    if (ping == 0)
        return -1;
    display->chased = ping;
    display->chaser = 0;
    if (hand_await(hand, ping, err) < 0 || hand_await(hand, display->chaser, err) < 0)
        return -1;
    hands->pinged_us = sent_us;
    if (!display->chaser || hands->due_us > sent_us)
        return 0;
    hands->keys_delivered++;
    hands->due_us = clock_monotonic_us() + KEY_US;
    return 0;
}

/* Waits for the next thing to happen: the timer of QEMU's queue, which it proves, or an answer of the agent.
 * The mutex is held. */
static int follow(struct hand *hand, struct error *err)
{
    struct hands *hands = &hand->display->hands;
    bool queued = hands->keys_delivered < hands->keys_sent;
    if (queued && clock_monotonic_us() >= hands->due_us)
        return prove_turn(hand, err);
    int64_t until_us = queued ? hands->due_us : clock_monotonic_us() + IDLE_US;
    session_sleep_until(hand->display, until_us);
    return 0;
}

static bool has_room(const struct hands *hands, size_t count)
{
    return hands->keys_sent - hands->keys_taken + count <= KEYS_WINDOW;
}

/* Waits until `count` more events may be under way. The mutex is held. */
static int make_room(struct hand *hand, size_t count, struct error *err)
{
    struct hands *hands = &hand->display->hands;
    for (;;) {
        if (hand_check(hand, err) < 0 || hand_hear(hand, err) < 0)
            return -1;
        /* The agent is asked about several at a time, while QEMU still has some to deliver. */
        uint64_t unproven = hands->keys_delivered - hands->keys_taken;
        bool worth = unproven >= KEYS_CHUNK || hands->keys_delivered == hands->keys_sent;
        if (!has_room(hands, count) && worth && hand_ask(hand, err) < 0)
            return -1;
        if (has_room(hands, count))
            return 0;
        if (!hand->question.answered && follow(hand, err) < 0)
            return -1;
    }
}

static void note_hold(struct hands *hands, const struct hands_key *key)
{
    if (!key->lift)
        holds_key(hands->holder, key->scancode, key->down);
}

/* Whether pointer messages are unproven: keys must not overtake them. */
static bool pointer_is_open(struct hand *hand)
{
    LOCK_SCOPE(&hand->display->mutex);
    return hand->display->hands.moves_taken < hand->display->hands.moves_sent;
}

/* Posts the gathered key events once there is room for them. */
static int flush(struct hand *hand, struct error *err)
{
    unsigned char bytes[KEYS_CHUNK * HANDS_KEY_BYTES];
    struct display *display = hand->display;
    size_t count = hand->chunk_count;
    if (count == 0)
        return 0;
    if (pointer_is_open(hand) && hand_prove(hand, err) < 0)
        return -1;
    LOCK_SCOPE(&display->mutex);
    if (make_room(hand, count, err) < 0)
        return -1;
    hand->chunk_count = 0;
    for (size_t i = 0; i < count; i++) {
        key_bytes(hand->chunk[i].scancode, hand->chunk[i].down, bytes + i * HANDS_KEY_BYTES);
        note_hold(&display->hands, &hand->chunk[i]);
        hand->typed += hand->chunk[i].enters;
    }
    return post(hand, bytes, count, err);
}

static int gather(struct hand *hand, struct hands_key key, struct error *err)
{
    if (hand->chunk_count == KEYS_CHUNK && flush(hand, err) < 0)
        return -1;
    hand->chunk[hand->chunk_count++] = key;
    return 0;
}

int keyboard_send(struct hand *hand, uint16_t key, bool down, struct error *err)
{
    return gather(hand, (struct hands_key){.scancode = scancode_of(key), .down = down}, err);
}

int keyboard_tap(struct hand *hand, uint16_t key, bool enters, struct error *err)
{
    uint8_t scancode = scancode_of(key);
    if (hand->chunk_count + 2 > KEYS_CHUNK && flush(hand, err) < 0)
        return -1;
    hand->chunk[hand->chunk_count++] = (struct hands_key){scancode, .down = true, .enters = enters};
    hand->chunk[hand->chunk_count++] = (struct hands_key){scancode, .down = false};
    return 0;
}

int keyboard_modifiers(struct hand *hand, unsigned modifiers, bool down, struct error *err)
{
    for (size_t i = 0; i < MODIFIER_KINDS; i++) {
        enum key_modifier modifier = modifier_order[down ? i : MODIFIER_KINDS - 1 - i];
        if ((modifiers & modifier) && keyboard_send(hand, keys_of_modifier(modifier), down, err) < 0)
            return -1;
    }
    return 0;
}

/* The scancode of what another party holds, when it is a modifier; else 0. */
static uint8_t modifier_scancode(uint32_t held)
{
    /* scancodes, and the keysyms (X11/keysymdef.h) that viewers without the extended key event send for them
     */
    static const struct {
        uint8_t scancode;
        uint32_t keysyms[2];
    } keys[] = {
        {0x2a, {0xffe1, 0}},      {0x36, {0xffe2, 0}},      {0x1d, {0xffe3, 0}},
        {0x9d, {0xffe4, 0}},      {0x38, {0xffe9, 0xffe7}}, {0xb8, {0xffea, 0xfe03}},
        {0xdb, {0xffeb, 0xffed}}, {0xdc, {0xffec, 0xffee}},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (held == keys[i].scancode || held == (HOLDS_KEYSYM | keys[i].keysyms[0]) ||
            (keys[i].keysyms[1] && held == (HOLDS_KEYSYM | keys[i].keysyms[1])))
            return keys[i].scancode;
    return 0;
}

int keyboard_lift_others(struct hand *hand, struct error *err)
{
    uint32_t held[HOLDS_KEYS_MAX];
    size_t count = holds_others(hand->display->hands.holder, held, HOLDS_KEYS_MAX);
    for (size_t i = 0; i < count; i++) {
        uint8_t scancode = modifier_scancode(held[i]);
        if (scancode && gather(hand, (struct hands_key){.scancode = scancode, .lift = true}, err) < 0)
            return -1;
    }
    return 0;
}

/* A round of QEMU's main loop for what a viewer said last, one for its end, and as many again to be sure. */
static int sync_ends(struct hand *hand, struct error *err)
{
    LOCK_SCOPE(&hand->display->mutex);
    for (int i = 0; i < ENDS_PINGS; i++)
        if (post(hand, NULL, 0, err) < 0)
            return -1;
    return 0;
}

int keyboard_begin(struct hand *hand, struct error *err)
{
    return holds_press(hand->display->hands.holds, true) ? sync_ends(hand, err) : 0;
}

int keyboard_pause(struct hand *hand, struct error *err)
{
    if (!holds_waiting(hand->display->hands.holds))
        return 0;
    if (flush(hand, err) < 0)
        return -1;
    return holds_sweep(hand->display->hands.holds) ? sync_ends(hand, err) : 0;
}

int keyboard_drain(struct hand *hand, struct error *err)
{
    if (flush(hand, err) < 0)
        return -1;
    struct hands *hands = &hand->display->hands;
    LOCK_SCOPE(&hand->display->mutex);
    while (hands->keys_delivered < hands->keys_sent)
        if (hand_check(hand, err) < 0 || follow(hand, err) < 0)
            return -1;
    return hand_check(hand, err);
}
