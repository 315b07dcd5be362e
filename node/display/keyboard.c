#include "display/keyboard.h"

#include <string.h>

#include "base/clock.h"
#include "display/scancode.h"
#include "protocol/key_names.h"

#define ENDS_PINGS 4
#define IDLE_US    1000000 /* how long one sleeps at most for an answer that wakes */

static const enum key_modifier modifier_order[] = {MODIFIER_CTRL, MODIFIER_ALT, MODIFIER_SHIFT,
                                                   MODIFIER_SUPER};
#define MODIFIER_KINDS (sizeof modifier_order / sizeof modifier_order[0])

/* QEMU Extended Key Event with keysym 0: by scancode alone, so that no keymap is guessed. */
static void key_bytes(uint8_t scancode, bool down, unsigned char bytes[KEYBOARD_BYTES])
{
    const unsigned char message[KEYBOARD_BYTES] = {255, 0, 0, down, 0, 0, 0, 0, 0, 0, 0, scancode};
    memcpy(bytes, message, KEYBOARD_BYTES);
}

size_t keyboard_release(struct input_state *input, const uint32_t *keys, size_t count, unsigned char *bytes)
{
    for (size_t i = count; i > 0; i--) {
        key_bytes((uint8_t)keys[i - 1], false, bytes + (count - i) * KEYBOARD_BYTES);
        holds_key(input->holder, keys[i - 1], false);
    }
    input->keys_sent += count;
    return count * KEYBOARD_BYTES;
}

/* An event has left QEMU's queue, whose timer now runs for the next one. */
static void note_delivered(struct input_state *input)
{
    input->keys_delivered++;
    input->due_us = clock_monotonic_us() + KEY_US;
}

/*
 * Sends key events (or none), waits for QEMU to have read them, and learns from the echo what has left its
 * queue; see proof.h. The mutex is held.
 */
static int post_keys(struct turn *turn, const unsigned char *bytes, size_t count, struct error *err)
{
    struct input_state *input = turn->input;
    int64_t sent_us = clock_monotonic_us();
    uint64_t ping = session_post(turn->session, bytes, count * KEYBOARD_BYTES, err);
    if (ping == 0)
        return -1;
    bool empty = input->keys_delivered == input->keys_sent;
    input->keys_sent += count;
    if (turn_await(turn, ping, err) < 0)
        return -1;
    /* Either the timer's turn before the last, or nothing was in the way of the first of these. */
    bool due = input->due_us <= input->pinged_us;
    if (due && input->keys_delivered < input->keys_sent && (count == 0 || empty))
        note_delivered(input);
    input->pinged_us = sent_us;
    return 0;
}

/* The timer of QEMU's queue is due: two pings, the second sent by the session's thread when the first is
 * back, prove that it has been served. The mutex is held. */
static int prove_served(struct turn *turn, struct error *err)
{
    struct session *session = turn->session;
    struct input_state *input = turn->input;
    int64_t sent_us = clock_monotonic_us();
    uint64_t ping = session_post(session, NULL, 0, err);
    if (ping == 0)
        return -1;
    session->chased = ping;
    session->chaser = 0;
    if (turn_await(turn, ping, err) < 0 || turn_await(turn, session->chaser, err) < 0)
        return -1;
    input->pinged_us = sent_us;
    if (session->chaser && input->due_us <= sent_us)
        note_delivered(input);
    return 0;
}

/* Waits for the next thing to happen: the timer of QEMU's queue, which it proves, or an answer of the agent.
 * The mutex is held. */
static int follow_queue(struct turn *turn, struct error *err)
{
    struct input_state *input = turn->input;
    bool queued = input->keys_delivered < input->keys_sent;
    if (queued && clock_monotonic_us() >= input->due_us)
        return prove_served(turn, err);
    int64_t until_us = queued ? input->due_us : clock_monotonic_us() + IDLE_US;
    session_sleep_until(turn->session, until_us);
    return 0;
}

static bool has_room(const struct input_state *input, size_t count)
{
    return input->keys_sent - input->keys_taken + count <= KEYS_WINDOW;
}

/* Waits until `count` more events may be under way. The mutex is held. */
static int make_room(struct turn *turn, size_t count, struct error *err)
{
    struct input_state *input = turn->input;
    for (;;) {
        if (turn_check(turn, err) < 0 || proof_hear(turn, err) < 0)
            return -1;
        /* The agent is asked about several at a time, while QEMU still has some to deliver. */
        uint64_t unproven = input->keys_delivered - input->keys_taken;
        bool worth = unproven >= KEYS_CHUNK || input->keys_delivered == input->keys_sent;
        if (!has_room(input, count) && worth && proof_ask(turn, err) < 0)
            return -1;
        if (has_room(input, count))
            return 0;
        if (!turn->question.answered && follow_queue(turn, err) < 0)
            return -1;
    }
}

static void note_hold(struct input_state *input, const struct turn_key *key)
{
    if (!key->lift)
        holds_key(input->holder, key->scancode, key->down);
}

/* Whether pointer messages are unproven: keys must not overtake them. */
static bool pointer_is_open(struct turn *turn)
{
    LOCK_SCOPE(&turn->session->mutex);
    return turn->input->moves_taken < turn->input->moves_sent;
}

/* Posts the gathered key events once there is room for them. */
static int flush_keys(struct turn *turn, struct error *err)
{
    unsigned char bytes[KEYS_CHUNK * KEYBOARD_BYTES];
    struct session *session = turn->session;
    size_t count = turn->chunk_count;
    if (count == 0)
        return 0;
    if (pointer_is_open(turn) && proof_await(turn, err) < 0)
        return -1;
    LOCK_SCOPE(&session->mutex);
    if (make_room(turn, count, err) < 0)
        return -1;
    turn->chunk_count = 0;
    for (size_t i = 0; i < count; i++) {
        key_bytes(turn->chunk[i].scancode, turn->chunk[i].down, bytes + i * KEYBOARD_BYTES);
        note_hold(turn->input, &turn->chunk[i]);
        turn->typed += turn->chunk[i].enters;
    }
    return post_keys(turn, bytes, count, err);
}

static int gather_key(struct turn *turn, struct turn_key key, struct error *err)
{
    if (turn->chunk_count == KEYS_CHUNK && flush_keys(turn, err) < 0)
        return -1;
    turn->chunk[turn->chunk_count++] = key;
    return 0;
}

int keyboard_send(struct turn *turn, uint16_t key, bool down, struct error *err)
{
    return gather_key(turn, (struct turn_key){.scancode = scancode_of(key), .down = down}, err);
}

int keyboard_tap(struct turn *turn, uint16_t key, bool enters, struct error *err)
{
    uint8_t scancode = scancode_of(key);
    if (turn->chunk_count + 2 > KEYS_CHUNK && flush_keys(turn, err) < 0)
        return -1;
    turn->chunk[turn->chunk_count++] = (struct turn_key){scancode, .down = true, .enters = enters};
    turn->chunk[turn->chunk_count++] = (struct turn_key){scancode, .down = false};
    return 0;
}

int keyboard_modifiers(struct turn *turn, unsigned modifiers, bool down, struct error *err)
{
    for (size_t i = 0; i < MODIFIER_KINDS; i++) {
        enum key_modifier modifier = modifier_order[down ? i : MODIFIER_KINDS - 1 - i];
        if ((modifiers & modifier) && keyboard_send(turn, keys_of_modifier(modifier), down, err) < 0)
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

int keyboard_lift_others(struct turn *turn, struct error *err)
{
    uint32_t held[HOLDS_KEYS_MAX];
    size_t count = holds_others(turn->input->holder, held, HOLDS_KEYS_MAX);
    for (size_t i = 0; i < count; i++) {
        uint8_t scancode = modifier_scancode(held[i]);
        if (scancode && gather_key(turn, (struct turn_key){.scancode = scancode, .lift = true}, err) < 0)
            return -1;
    }
    return 0;
}

/* A round of QEMU's main loop for what a viewer said last, one for its end, and as many again to be sure. */
static int sync_ends(struct turn *turn, struct error *err)
{
    LOCK_SCOPE(&turn->session->mutex);
    for (int i = 0; i < ENDS_PINGS; i++)
        if (post_keys(turn, NULL, 0, err) < 0)
            return -1;
    return 0;
}

int keyboard_begin(struct turn *turn, struct error *err)
{
    return holds_press(turn->input->holds, true) ? sync_ends(turn, err) : 0;
}

int keyboard_pause(struct turn *turn, struct error *err)
{
    if (!holds_waiting(turn->input->holds))
        return 0;
    if (flush_keys(turn, err) < 0)
        return -1;
    return holds_sweep(turn->input->holds) ? sync_ends(turn, err) : 0;
}

int keyboard_drain(struct turn *turn, struct error *err)
{
    if (flush_keys(turn, err) < 0)
        return -1;
    struct input_state *input = turn->input;
    LOCK_SCOPE(&turn->session->mutex);
    while (input->keys_delivered < input->keys_sent)
        if (turn_check(turn, err) < 0 || follow_queue(turn, err) < 0)
            return -1;
    return turn_check(turn, err);
}

int keyboard_settle(struct turn *turn, struct error *err)
{
    return keyboard_drain(turn, err) < 0 ? -1 : proof_await(turn, err);
}
