/*
 * The hands of a session: what reaches the guest's keyboard and pointer, in which order and at which pace.
 *
 * QEMU holds each key event back 10 ms in a queue that drops silently what does not fit (some 340 events), so
 * at most KEYS_AHEAD + KEYS_CHUNK events are in it by our reckoning. Its timer runs late when the host is
 * busy: how late QEMU's main loop answers our pings is added to the 10 ms, and a ping that takes long moves
 * the end of the queue by as much. Pointer messages do not pass through that queue: the pointer waits until
 * the keys are out. What no VNC client can see is whether the guest runs: its virtio keyboard's ring holds 32
 * key events, so a guest that does not run for longer than 320 ms while we type loses keys (seen with a
 * virtual CPU held up for 1.3 s on an overloaded host). Pointer messages go 1 ms apart and at most
 * POINTER_AHEAD of them unanswered, for the guest's virtio queue holds few and QEMU keeps the oldest only.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "base/text.h"
#include "display/scancode.h"
#include "display/session.h"
#include "protocol/keys.h"

#define KEY_US        10250 /* QEMU's key delay, and what its millisecond timer rounds up */
#define KEYS_CHUNK    16
#define KEYS_AHEAD    32
#define KEY_BYTES     12
#define LATENESS_MAX  20000
#define STALL_US      5000   /* an answer later than this is a stall, not noise */
#define LOOK_US       100000 /* how often a draining queue is looked after */
#define POINTER_US    1000
#define POINTER_AHEAD 4
#define POINTER_BYTES 6
#define DRAG_PIXELS   8 /* between two points of a drag */
#define DRAG_STEPS    100

#define WHEEL_UP   3 /* RFB button numbers from 0 */
#define WHEEL_DOWN 4

/* One display_perform() under way. */
struct hand {
    struct display *display;
    int64_t deadline_ms;
    uint32_t width, height;                      /* of the screen, as it was when the action began */
    uint64_t last_ping;                          /* of the last pointer message */
    unsigned char chunk[KEYS_CHUNK * KEY_BYTES]; /* key events that are not posted yet */
    uint16_t chunk_keys[KEYS_CHUNK];
    bool chunk_down[KEYS_CHUNK];
    size_t chunk_count;
};

static const enum action_modifier modifier_order[] = {MODIFIER_CTRL, MODIFIER_ALT, MODIFIER_SHIFT,
                                                      MODIFIER_SUPER};
#define MODIFIER_KINDS (sizeof modifier_order / sizeof modifier_order[0])

/* QEMU Extended Key Event with keysym 0: by scancode alone, so that no keymap is guessed. */
static void key_bytes(uint16_t key, bool down, unsigned char bytes[KEY_BYTES])
{
    const unsigned char message[KEY_BYTES] = {255, 0, 0, down, 0, 0, 0, 0, 0, 0, 0, scancode_of(key)};
    memcpy(bytes, message, KEY_BYTES);
}

/*
 * QEMU divides by a width that is rounded up to 16 (*read*, ui/vnc.c), and a guest maps the 15 bits that
 * arrive to its own width. The value whose pixel in the guest is nearest to the one asked for.
 */
static uint32_t scale(uint32_t at, uint32_t size, uint32_t rounded)
{
    if (size == rounded)
        return at;
    uint32_t best = at;
    double nearest = size;
    for (uint32_t value = at * rounded / size; value <= at * rounded / size + 1; value++) {
        double pixel = (double)(value * 32767 / rounded) * size / 32768;
        double distance = pixel > at ? pixel - at : at - pixel;
        if (distance < nearest) {
            nearest = distance;
            best = value;
        }
    }
    return best;
}

static void pointer_bytes(const struct display *display, uint8_t buttons, unsigned char bytes[POINTER_BYTES])
{
    uint32_t width = display->width ? display->width : 1;
    /* The screen may have become smaller since the pointer was last moved. */
    uint32_t x = (uint32_t)display->pointer_x, y = (uint32_t)display->pointer_y;
    x = scale(x < width ? x : width - 1, width, (width + 15) / 16 * 16);
    const unsigned char message[POINTER_BYTES] = {
        5, buttons, (unsigned char)(x >> 8), (unsigned char)x, (unsigned char)(y >> 8), (unsigned char)y};
    memcpy(bytes, message, POINTER_BYTES);
}

static void note_held(struct display *display, uint16_t key, bool down)
{
    size_t at = 0;
    while (at < display->held_count && display->held[at] != key)
        at++;
    if (down && at == display->held_count && at < HELD_MAX)
        display->held[display->held_count++] = key;
    if (!down && at < display->held_count) {
        display->held_count--;
        memmove(display->held + at, display->held + at + 1,
                (display->held_count - at) * sizeof display->held[0]);
    }
}

static int64_t key_us(const struct display *display)
{
    return KEY_US + display->lateness_us;
}

/* The queue has this many events more. */
static void extend_queue(struct display *display, size_t events)
{
    int64_t now = clock_monotonic_us();
    if (display->drained_us < now)
        display->drained_us = now;
    display->drained_us += (int64_t)events * key_us(display);
}

void hands_release(struct display *display)
{
    unsigned char bytes[HELD_MAX * KEY_BYTES + POINTER_BYTES];
    size_t size = 0, events = display->held_count;
    while (display->held_count > 0) {
        key_bytes(display->held[--display->held_count], false, bytes + size);
        size += KEY_BYTES;
    }
    if (display->buttons) {
        display->buttons = 0;
        pointer_bytes(display, 0, bytes + size);
        size += POINTER_BYTES;
    }
    struct error ignored; /* a dead session has nothing left to release */
    if (size > 0 && session_post(display, bytes, size, &ignored) > 0)
        extend_queue(display, events);
}

/* Waits until a time, or fails with the session or at the deadline. The mutex is held. */
static int hold_until(struct hand *hand, int64_t until_us, struct error *err)
{
    for (;;) {
        if (session_check(hand->display, err) < 0)
            return -1;
        if (clock_monotonic_us() >= until_us)
            return 0;
        if (clock_left_ms(hand->deadline_ms) == 0)
            return error_set(err, ERROR_TIMEOUT,
                             "the time for this action is over; what it held down has been released");
        int64_t next_us = until_us;
        if (hand->deadline_ms < next_us / 1000)
            next_us = hand->deadline_ms * 1000;
        session_sleep_until(hand->display, next_us);
    }
}

/* Sends bytes, waits for QEMU to have processed them, and learns from how long that took. */
static int post_and_learn(struct hand *hand, const unsigned char *bytes, size_t size, struct error *err)
{
    struct display *display = hand->display;
    int64_t sent_us = clock_monotonic_us();
    uint64_t ping = session_post(display, bytes, size, err);
    if (ping == 0 || session_await(display, ping, hand->deadline_ms, err) < 0)
        return -1;
    int64_t took_us = clock_monotonic_us() - sent_us;
    int64_t late_us = took_us < LATENESS_MAX ? took_us : LATENESS_MAX;
    display->lateness_us += (late_us - display->lateness_us) / 8;
    if (took_us > STALL_US && display->drained_us > sent_us)
        display->drained_us += took_us;
    return 0;
}

/* Posts the gathered key events once the queue has room. */
static int flush_keys(struct hand *hand, struct error *err)
{
    if (hand->chunk_count == 0)
        return 0;
    struct display *display = hand->display;
    LOCK_SCOPE(&display->mutex);
    if (hold_until(hand, display->drained_us - KEYS_AHEAD * key_us(display), err) < 0)
        return -1;
    size_t count = hand->chunk_count;
    hand->chunk_count = 0;
    for (size_t i = 0; i < count; i++)
        note_held(display, hand->chunk_keys[i], hand->chunk_down[i]);
    if (post_and_learn(hand, hand->chunk, count * KEY_BYTES, err) < 0)
        return -1;
    extend_queue(display, count);
    return 0;
}

static int send_key(struct hand *hand, uint16_t key, bool down, struct error *err)
{
    if (hand->chunk_count == KEYS_CHUNK && flush_keys(hand, err) < 0)
        return -1;
    key_bytes(key, down, hand->chunk + hand->chunk_count * KEY_BYTES);
    hand->chunk_keys[hand->chunk_count] = key;
    hand->chunk_down[hand->chunk_count++] = down;
    return 0;
}

/* Waits until QEMU's key queue is empty. */
static int drain_keys(struct hand *hand, struct error *err)
{
    if (flush_keys(hand, err) < 0)
        return -1;
    struct display *display = hand->display;
    LOCK_SCOPE(&display->mutex);
    for (;;) {
        int64_t left_us = display->drained_us - clock_monotonic_us();
        if (left_us <= 0)
            return session_check(display, err);
        int64_t step_us = left_us < LOOK_US ? left_us : LOOK_US;
        if (hold_until(hand, clock_monotonic_us() + step_us, err) < 0 ||
            post_and_learn(hand, NULL, 0, err) < 0)
            return -1;
    }
}

/* One pointer message: the pointer at a pixel, with these buttons. */
static int send_pointer(struct hand *hand, struct action_point at, uint8_t buttons, struct error *err)
{
    struct display *display = hand->display;
    unsigned char bytes[POINTER_BYTES];
    LOCK_SCOPE(&display->mutex);
    if (hold_until(hand, display->pointer_us, err) < 0)
        return -1;
    if (hand->last_ping > POINTER_AHEAD &&
        session_await(display, hand->last_ping - POINTER_AHEAD, hand->deadline_ms, err) < 0)
        return -1;
    display->pointer_x = at.x;
    display->pointer_y = at.y;
    pointer_bytes(display, buttons, bytes);
    uint64_t ping = session_post(display, bytes, sizeof bytes, err);
    if (ping == 0)
        return -1;
    display->buttons = buttons;
    display->pointer_us = clock_monotonic_us() + POINTER_US;
    hand->last_ping = ping;
    return 0;
}

/* Waits until QEMU has processed the last pointer message. */
static int settle_pointer(struct hand *hand, struct error *err)
{
    LOCK_SCOPE(&hand->display->mutex);
    return session_await(hand->display, hand->last_ping, hand->deadline_ms, err);
}

static uint8_t button_bit(enum action_button button)
{
    return (uint8_t)(1u << button);
}

static uint8_t buttons_now(struct hand *hand)
{
    LOCK_SCOPE(&hand->display->mutex);
    return hand->display->buttons;
}

static int send_modifiers(struct hand *hand, unsigned modifiers, bool down, struct error *err)
{
    for (size_t i = 0; i < MODIFIER_KINDS; i++) {
        enum action_modifier modifier = modifier_order[down ? i : MODIFIER_KINDS - 1 - i];
        if ((modifiers & modifier) && send_key(hand, keys_of_modifier(modifier), down, err) < 0)
            return -1;
    }
    return 0;
}

static int check_point(const struct hand *hand, struct action_point point, struct error *err)
{
    if (point.x >= 0 && point.y >= 0 && (uint32_t)point.x < hand->width && (uint32_t)point.y < hand->height)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "the point (%d, %d) is outside the screen, which is %ux%u: x is 0 to %u, y is 0 to %u",
                     point.x, point.y, hand->width, hand->height, hand->width - 1, hand->height - 1);
}

static int perform_click(struct hand *hand, const struct action *action, struct error *err)
{
    uint8_t others = buttons_now(hand) & (uint8_t)~button_bit(action->button);
    if (send_pointer(hand, action->point, others, err) < 0)
        return -1;
    for (int i = 0; i < action->count; i++)
        if (send_pointer(hand, action->point, others | button_bit(action->button), err) < 0 ||
            send_pointer(hand, action->point, others, err) < 0)
            return -1;
    return 0;
}

static int perform_move(struct hand *hand, const struct action *action, struct error *err)
{
    return send_pointer(hand, action->point, buttons_now(hand), err);
}

/* Points on the way, close enough together for programs that follow the pointer. */
static int drag_to(struct hand *hand, struct action_point from, struct action_point to, uint8_t buttons,
                   struct error *err)
{
    int32_t dx = to.x - from.x, dy = to.y - from.y;
    int32_t reach = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    int32_t steps = reach / DRAG_PIXELS;
    steps = steps < 2 ? 2 : steps > DRAG_STEPS ? DRAG_STEPS : steps;
    for (int32_t i = 1; i <= steps; i++) {
        struct action_point at = {from.x + dx * i / steps, from.y + dy * i / steps};
        if (send_pointer(hand, at, buttons, err) < 0)
            return -1;
    }
    return 0;
}

static int perform_drag(struct hand *hand, const struct action *action, struct error *err)
{
    uint8_t others = buttons_now(hand) & (uint8_t)~button_bit(action->button);
    uint8_t held = others | button_bit(action->button);
    if (send_pointer(hand, action->path[0], others, err) < 0 ||
        send_pointer(hand, action->path[0], held, err) < 0)
        return -1;
    for (size_t i = 1; i < action->path_count; i++)
        if (drag_to(hand, action->path[i - 1], action->path[i], held, err) < 0)
            return -1;
    return send_pointer(hand, action->path[action->path_count - 1], others, err);
}

/* mouse_down and mouse_up. */
static int perform_button(struct hand *hand, const struct action *action, struct error *err)
{
    uint8_t before = buttons_now(hand);
    uint8_t after = action->kind == ACTION_MOUSE_DOWN ? before | button_bit(action->button)
                                                      : before & (uint8_t)~button_bit(action->button);
    struct action_point at = action->point;
    if (!action->has_point) {
        LOCK_SCOPE(&hand->display->mutex);
        at = (struct action_point){hand->display->pointer_x, hand->display->pointer_y};
        if (at.x < 0)
            return error_set(err, ERROR_BAD_REQUEST, "the pointer has not been moved yet: give x and y");
    } else if (send_pointer(hand, at, before, err) < 0) {
        return -1;
    }
    return send_pointer(hand, at, after, err);
}

/* A press of a wheel button is a notch, its release nothing. */
static int perform_scroll(struct hand *hand, const struct action *action, struct error *err)
{
    uint8_t buttons = buttons_now(hand);
    uint8_t wheel = (uint8_t)(1u << (action->dy > 0 ? WHEEL_DOWN : WHEEL_UP));
    if (send_pointer(hand, action->point, buttons, err) < 0)
        return -1;
    for (int32_t i = 0; i < abs(action->dy); i++)
        if (send_pointer(hand, action->point, buttons | wheel, err) < 0 ||
            send_pointer(hand, action->point, buttons, err) < 0)
            return -1;
    return 0;
}

static int press_chord(struct hand *hand, struct action_chord chord, struct error *err)
{
    if (send_modifiers(hand, chord.modifiers, true, err) < 0)
        return -1;
    if (chord.key && (send_key(hand, chord.key, true, err) < 0 || send_key(hand, chord.key, false, err) < 0))
        return -1;
    return send_modifiers(hand, chord.modifiers, false, err);
}

/* Shift stays down over neighbours that both need it: a shifted character alone costs four events. */
static int perform_type(struct hand *hand, const struct action *action, struct error *err)
{
    unsigned held = 0;
    size_t size = strlen(action->text), length;
    for (size_t at = 0; at < size; at += length) {
        uint32_t code_point;
        struct action_chord chord;
        length = text_decode(action->text + at, size - at, &code_point);
        if (length == 0 || !keys_from_character(code_point, &chord))
            return error_set(err, ERROR_UNTYPABLE, "the text holds a character that cannot be typed exactly");
        if (send_modifiers(hand, held & ~chord.modifiers, false, err) < 0 ||
            send_modifiers(hand, chord.modifiers & ~held, true, err) < 0 ||
            send_key(hand, chord.key, true, err) < 0 || send_key(hand, chord.key, false, err) < 0)
            return -1;
        held = chord.modifiers;
    }
    return send_modifiers(hand, held, false, err);
}

static int perform_keys(struct hand *hand, const struct action *action, struct error *err)
{
    for (int i = 0; i < action->repeat; i++)
        for (size_t k = 0; k < action->key_count; k++)
            if (press_chord(hand, action->keys[k], err) < 0)
                return -1;
    return 0;
}

/* Sleeps for a time without keeping anybody from looking. */
static int pass_time(struct hand *hand, int64_t ms, struct error *err)
{
    LOCK_SCOPE(&hand->display->mutex);
    return hold_until(hand, clock_monotonic_us() + ms * 1000, err);
}

static int perform_hold(struct hand *hand, const struct action *action, struct error *err)
{
    unsigned modifiers = 0;
    for (size_t k = 0; k < action->key_count; k++)
        modifiers |= action->keys[k].modifiers;
    if (send_modifiers(hand, modifiers, true, err) < 0)
        return -1;
    for (size_t k = 0; k < action->key_count; k++)
        if (action->keys[k].key && send_key(hand, action->keys[k].key, true, err) < 0)
            return -1;
    if (drain_keys(hand, err) < 0 || pass_time(hand, action->duration_ms, err) < 0)
        return -1;
    for (size_t k = action->key_count; k > 0; k--)
        if (action->keys[k - 1].key && send_key(hand, action->keys[k - 1].key, false, err) < 0)
            return -1;
    return send_modifiers(hand, modifiers, false, err);
}

static int perform_wait(struct hand *hand, const struct action *action, struct error *err)
{
    if (action->until == UNTIL_DURATION)
        return pass_time(hand, action->duration_ms, err);
    return watch_wait(hand->display, action, NULL, hand->deadline_ms, err);
}

/* The answer is in the outcome. */
static int perform_nothing(struct hand *hand, const struct action *action, struct error *err)
{
    (void)hand, (void)action, (void)err;
    return 0;
}

static int (*const performers[])(struct hand *, const struct action *, struct error *) = {
    [ACTION_CLICK] = perform_click,
    [ACTION_MOVE] = perform_move,
    [ACTION_DRAG] = perform_drag,
    [ACTION_MOUSE_DOWN] = perform_button,
    [ACTION_MOUSE_UP] = perform_button,
    [ACTION_SCROLL] = perform_scroll,
    [ACTION_TYPE] = perform_type,
    [ACTION_KEY] = perform_keys,
    [ACTION_HOLD_KEY] = perform_hold,
    [ACTION_WAIT] = perform_wait,
    [ACTION_CURSOR_POSITION] = perform_nothing,
};

static int check_action(const struct hand *hand, const struct action *action, struct error *err)
{
    if (action->has_point && check_point(hand, action->point, err) < 0)
        return -1;
    for (size_t i = 0; i < action->path_count; i++)
        if (check_point(hand, action->path[i], err) < 0)
            return -1;
    if (!action->has_region)
        return 0;
    struct action_region region = action->region;
    struct action_point last = {region.x + region.width - 1, region.y + region.height - 1};
    return check_point(hand, (struct action_point){region.x, region.y}, err) < 0
               ? -1
               : check_point(hand, last, err);
}

/* One whole action, with its modifiers around it, until QEMU has no more of it to deliver. */
static int perform_one(struct hand *hand, const struct action *action, struct error *err)
{
    {
        LOCK_SCOPE(&hand->display->mutex);
        hand->width = hand->display->width;
        hand->height = hand->display->height;
        if (session_check(hand->display, err) < 0)
            return -1;
    }
    if (check_action(hand, action, err) < 0)
        return -1;
    if (send_modifiers(hand, action->modifiers, true, err) < 0 || drain_keys(hand, err) < 0 ||
        performers[action->kind](hand, action, err) < 0 || settle_pointer(hand, err) < 0 ||
        send_modifiers(hand, action->modifiers, false, err) < 0)
        return -1;
    return drain_keys(hand, err);
}

/* Waits for one's turn; turns come in the order of the calls. The mutex is held. */
static int take_turn(struct display *display, struct session_turn *turn, int64_t deadline_ms,
                     struct error *err)
{
    struct session_turn **end = &display->turns;
    while (*end)
        end = &(*end)->next;
    *end = turn;
    while (display->turns != turn) {
        if (session_check(display, err) < 0)
            return -1;
        if (!sync_cond_wait(&display->changed, &display->mutex, deadline_ms) && display->turns != turn)
            return error_set(err, ERROR_TIMEOUT,
                             "another caller's actions on this guest were not done by the deadline");
    }
    return session_check(display, err);
}

static void leave_turn(struct display *display, const struct session_turn *turn)
{
    struct session_turn **link = &display->turns;
    while (*link != turn)
        link = &(*link)->next;
    *link = turn->next;
    pthread_cond_broadcast(&display->changed);
}

void display_set_paused(struct display *display, const char *why)
{
    (void)display, (void)why;
}

int display_perform(struct display *display, const struct display_request *request, struct cancel *cancel,
                    int64_t deadline_ms, struct display_outcome *outcome, struct error *err)
{
    const struct action *actions = request->actions;
    size_t count = request->count;
    (void)cancel;
    struct session_turn turn = {.next = NULL};
    struct hand hand = {.display = display, .deadline_ms = deadline_ms};
    *outcome = (struct display_outcome){.done = 0};
    pthread_mutex_lock(&display->mutex);
    bool failed = take_turn(display, &turn, deadline_ms, err) < 0;
    pthread_mutex_unlock(&display->mutex);

    bool mine = !failed;
    while (!failed && outcome->done < count) {
        failed = perform_one(&hand, &actions[outcome->done], err) < 0;
        if (!failed)
            outcome->done++;
    }

    LOCK_SCOPE(&display->mutex);
    if (failed && mine)
        hands_release(display);
    leave_turn(display, &turn);
    outcome->width = display->width;
    outcome->height = display->height;
    outcome->pointer_x = display->pointer_x;
    outcome->pointer_y = display->pointer_y;
    return failed ? -1 : 0;
}
