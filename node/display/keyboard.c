/* The keyboard of a session: what goes out, and how far QEMU is with it (hands.h). */
#include <string.h>

#include "base/clock.h"
#include "display/scancode.h"
#include "display/session.h"
#include "protocol/keys.h"

#define KEY_US   10250 /* QEMU's key delay, and what its millisecond timer rounds up */
#define STALL_US 5000  /* an answer later than this is a stall, not noise */
#define LOOK_US  20000 /* how often a draining queue is looked after */
#define SLACK_US                                                                                             \
    20000 /* where proof is asked for: how much later than reckoned an event may be delivered                \
           */

static const enum action_modifier modifier_order[] = {MODIFIER_CTRL, MODIFIER_ALT, MODIFIER_SHIFT,
                                                      MODIFIER_SUPER};
#define MODIFIER_KINDS (sizeof modifier_order / sizeof modifier_order[0])

/* QEMU Extended Key Event with keysym 0: by scancode alone, so that no keymap is guessed. */
static void key_bytes(uint8_t scancode, bool down, unsigned char bytes[HANDS_KEY_BYTES])
{
    const unsigned char message[HANDS_KEY_BYTES] = {255, 0, 0, down, 0, 0, 0, 0, 0, 0, 0, scancode};
    memcpy(bytes, message, HANDS_KEY_BYTES);
}

static int64_t key_us(const struct display *display)
{
    return KEY_US + display->hands.lateness_us;
}

/* QEMU's queue has this many events more. */
static void extend_queue(struct display *display, size_t events)
{
    struct hands *hands = &display->hands;
    int64_t now = clock_monotonic_us();
    if (hands->drained_us < now)
        hands->drained_us = now;
    hands->drained_us += (int64_t)events * key_us(display);
    hands->keys_sent += events;
}

size_t keyboard_release(struct display *display, const uint32_t *keys, size_t count, unsigned char *bytes)
{
    for (size_t i = count; i > 0; i--) {
        key_bytes((uint8_t)keys[i - 1], false, bytes + (count - i) * HANDS_KEY_BYTES);
        holds_key(display->hands.holder, keys[i - 1], false);
    }
    extend_queue(display, count);
    return count * HANDS_KEY_BYTES;
}

/* When QEMU has delivered all but the last `behind` events that were sent. */
static int64_t delivered_us(const struct display *display, uint64_t behind)
{
    return display->hands.drained_us - (int64_t)behind * key_us(display);
}

static int64_t slack_us(const struct display *display)
{
    return display->hands.assist.confirm ? SLACK_US : 0;
}

uint64_t keyboard_delivered(const struct display *display)
{
    const struct hands *hands = &display->hands;
    int64_t now = clock_monotonic_us() - slack_us(display);
    uint64_t open = hands->keys_sent - hands->keys_taken, behind = 0;
    while (behind < open && delivered_us(display, behind) > now)
        behind++;
    return hands->keys_sent - behind;
}

/*
 * Sends bytes, waits for QEMU to have processed them, and learns from how long that took. The mutex is held.
 * A ping waits for four threads to be woken one after the other, QEMU's timer for one: half of the ping is
 * more than the timer's own lateness. A stall moves the end of the queue by all of it.
 */
static int post_and_learn(struct hand *hand, const unsigned char *bytes, size_t size, struct error *err)
{
    struct hands *hands = &hand->display->hands;
    int64_t sent_us = clock_monotonic_us();
    uint64_t ping = session_post(hand->display, bytes, size, err);
    if (ping == 0 || hand_await(hand, ping, err) < 0)
        return -1;
    int64_t took_us = clock_monotonic_us() - sent_us;
    int64_t late_us = (took_us < STALL_US ? took_us : STALL_US) / 2;
    hands->lateness_us += (late_us - hands->lateness_us) / 8;
    if (took_us > STALL_US && hands->drained_us > sent_us)
        hands->drained_us += took_us;
    return 0;
}

/* Waits until QEMU has delivered all but the last `behind` events, and so long after it. The mutex is held.
 */
static int wait_delivered(struct hand *hand, uint64_t behind, int64_t after_us, struct error *err)
{
    for (;;) {
        int64_t left_us = delivered_us(hand->display, behind) + after_us - clock_monotonic_us();
        if (left_us <= 0)
            return hand_check(hand, err);
        int64_t step_us = left_us < LOOK_US ? left_us : LOOK_US;
        if (hand_hold_until(hand, clock_monotonic_us() + step_us, true, err) < 0 ||
            post_and_learn(hand, NULL, 0, err) < 0)
            return -1;
    }
}

/* Waits until `count` more events may be under way. */
static int make_room(struct hand *hand, size_t count, struct error *err)
{
    struct display *display = hand->display;
    struct hands *hands = &display->hands;
    for (;;) {
        {
            LOCK_SCOPE(&display->mutex);
            if (hands->keys_sent - hands->keys_taken + count <= KEYS_WINDOW)
                return hand_check(hand, err);
            /* What is still in QEMU keeps it busy while the agent answers. */
            if (wait_delivered(hand, KEYS_WINDOW - count, slack_us(display), err) < 0)
                return -1;
        }
        if (hand_confirm(hand, err) < 0)
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
    if ((pointer_is_open(hand) && hand_confirm(hand, err) < 0) || make_room(hand, count, err) < 0)
        return -1;
    LOCK_SCOPE(&display->mutex);
    if (hand_check(hand, err) < 0)
        return -1;
    hand->chunk_count = 0;
    for (size_t i = 0; i < count; i++) {
        key_bytes(hand->chunk[i].scancode, hand->chunk[i].down, bytes + i * HANDS_KEY_BYTES);
        note_hold(&display->hands, &hand->chunk[i]);
        hand->typed += hand->chunk[i].enters;
    }
    extend_queue(display, count);
    return post_and_learn(hand, bytes, count * HANDS_KEY_BYTES, err);
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

void keyboard_mark(struct hand *hand)
{
    hand->chunk[hand->chunk_count - 1].enters = true;
}

int keyboard_modifiers(struct hand *hand, unsigned modifiers, bool down, struct error *err)
{
    for (size_t i = 0; i < MODIFIER_KINDS; i++) {
        enum action_modifier modifier = modifier_order[down ? i : MODIFIER_KINDS - 1 - i];
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

/*
 * QEMU has seen a connection end once it has answered two pings: the first may have been read in the round of
 * its main loop that was under way.
 */
int keyboard_pause(struct hand *hand, struct error *err)
{
    if (!holds_waiting(hand->display->hands.holds))
        return 0;
    if (flush(hand, err) < 0)
        return -1;
    holds_sweep(hand->display->hands.holds);
    LOCK_SCOPE(&hand->display->mutex);
    for (int i = 0; i < 2; i++)
        if (post_and_learn(hand, NULL, 0, err) < 0)
            return -1;
    return 0;
}

int keyboard_drain(struct hand *hand, bool prove, struct error *err)
{
    if (flush(hand, err) < 0)
        return -1;
    LOCK_SCOPE(&hand->display->mutex);
    return wait_delivered(hand, 0, prove ? slack_us(hand->display) : 0, err);
}
