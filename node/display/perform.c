/* Actions: each turned into what the keyboard and the pointer do, one caller after the other. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "base/text.h"
#include "display/session.h"
#include "protocol/key_names.h"

#define DRAG_PIXELS 8 /* between two points of a drag */
#define DRAG_STEPS  100

#define WHEEL_UP   3 /* RFB button numbers from 0 */
#define WHEEL_DOWN 4

/* A longer text goes through the guest's helper where there is one: for a shorter one its start takes as long
 * as the keys. */
#define KEYS_AUTO_MAX 32

/* How long the helper may take: to start on a busy host, and for each character of a text. */
#define HELPER_MS           30000
#define HELPER_CHARACTER_MS 50

static const struct display_helper *assist_of(const struct hand *hand)
{
    return &hand->display->hands.assist;
}

static int64_t helper_deadline(const struct hand *hand, size_t characters)
{
    int64_t until_ms = clock_deadline(HELPER_MS + HELPER_CHARACTER_MS * (int64_t)characters);
    return until_ms < hand->deadline_ms ? until_ms : hand->deadline_ms;
}

/* --- the pointer --------------------------------------------------------------------------------------- */

static uint8_t button_bit(enum action_button button)
{
    return (uint8_t)(1u << button);
}

static int perform_click(struct hand *hand, const struct action *action, struct error *err)
{
    /* The tablet has to be where the helper puts the pointer: its next position, if it is the same, is no
     * event. */
    if (action->button >= BUTTON_BACK)
        return pointer_send(hand, action->point, pointer_buttons(hand), err) < 0 || hand_settle(hand, err) < 0
                   ? -1
                   : assist_of(hand)->click(assist_of(hand)->context, action->point, action->button,
                                            action->count, helper_deadline(hand, 0), err);
    uint8_t others = pointer_buttons(hand) & (uint8_t)~button_bit(action->button);
    if (pointer_send(hand, action->point, others, err) < 0)
        return -1;
    for (int i = 0; i < action->count; i++)
        if (pointer_send(hand, action->point, others | button_bit(action->button), err) < 0 ||
            pointer_send(hand, action->point, others, err) < 0)
            return -1;
    return 0;
}

static int perform_move(struct hand *hand, const struct action *action, struct error *err)
{
    return pointer_send(hand, action->point, pointer_buttons(hand), err);
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
        if (pointer_send(hand, at, buttons, err) < 0)
            return -1;
    }
    return 0;
}

static int perform_drag(struct hand *hand, const struct action *action, struct error *err)
{
    uint8_t others = pointer_buttons(hand) & (uint8_t)~button_bit(action->button);
    uint8_t held = others | button_bit(action->button);
    if (pointer_send(hand, action->path[0], others, err) < 0 ||
        pointer_send(hand, action->path[0], held, err) < 0)
        return -1;
    for (size_t i = 1; i < action->path_count; i++)
        if (drag_to(hand, action->path[i - 1], action->path[i], held, err) < 0)
            return -1;
    return pointer_send(hand, action->path[action->path_count - 1], others, err);
}

/* mouse_down and mouse_up. */
static int perform_button(struct hand *hand, const struct action *action, struct error *err)
{
    uint8_t before = pointer_buttons(hand);
    uint8_t after = action->kind == ACTION_MOUSE_DOWN ? before | button_bit(action->button)
                                                      : before & (uint8_t)~button_bit(action->button);
    struct action_point at = action->point;
    if (action->has_point) {
        if (pointer_send(hand, at, before, err) < 0)
            return -1;
    } else if (!holds_position(hand->display->hands.holds, &at.x, &at.y)) {
        return error_set(err, ERROR_BAD_REQUEST, "the pointer has not been moved yet: give x and y");
    }
    return pointer_send(hand, at, after, err);
}

/* A press of a wheel button is a notch, its release nothing. */
static int perform_scroll(struct hand *hand, const struct action *action, struct error *err)
{
    uint8_t buttons = pointer_buttons(hand);
    uint8_t wheel = (uint8_t)(1u << (action->dy > 0 ? WHEEL_DOWN : WHEEL_UP));
    if (pointer_send(hand, action->point, buttons, err) < 0)
        return -1;
    for (int32_t i = 0; i < abs(action->dy); i++)
        if (pointer_send(hand, action->point, buttons | wheel, err) < 0 ||
            pointer_send(hand, action->point, buttons, err) < 0)
            return -1;
    if (action->dx == 0)
        return 0;
    return hand_settle(hand, err) < 0 ? -1
                                      : assist_of(hand)->scroll(assist_of(hand)->context, action->point,
                                                                action->dx, helper_deadline(hand, 0), err);
}

/* --- the keyboard -------------------------------------------------------------------------------------- */

static int press_chord(struct hand *hand, struct key_chord chord, struct error *err)
{
    if (keyboard_modifiers(hand, chord.modifiers, true, err) < 0)
        return -1;
    if (chord.key && keyboard_tap(hand, chord.key, false, err) < 0)
        return -1;
    return keyboard_modifiers(hand, chord.modifiers, false, err);
}

/* Shift stays down over neighbours that both need it: a shifted character alone costs four events. */
static int type_by_keys(struct hand *hand, const struct action *action, struct error *err)
{
    unsigned held = 0;
    size_t size = strlen(action->text), length;
    for (size_t at = 0; at < size; at += length) {
        uint32_t code_point;
        struct key_chord chord;
        length = text_decode(action->text + at, size - at, &code_point);
        if (length == 0 || !keys_from_character(code_point, &chord))
            return error_set(err, ERROR_UNTYPABLE, "the text holds a character that cannot be typed exactly");
        if (keyboard_modifiers(hand, held & ~chord.modifiers, false, err) < 0 ||
            keyboard_modifiers(hand, chord.modifiers & ~held, true, err) < 0 ||
            keyboard_tap(hand, chord.key, true, err) < 0)
            return -1;
        held = chord.modifiers;
        if (!held && keyboard_pause(hand, err) < 0)
            return -1;
    }
    return keyboard_modifiers(hand, held, false, err) < 0 ? -1 : keyboard_drain(hand, err);
}

/* After everything that was sent before, which its own way into the guest would overtake. */
static int type_by_helper(struct hand *hand, const struct action *action, struct error *err)
{
    if (hand_settle(hand, err) < 0)
        return -1;
    return assist_of(hand)->type(assist_of(hand)->context, action->text, strlen(action->text),
                                 hand->display->hands.stop, helper_deadline(hand, action->characters),
                                 &hand->typed, err);
}

static int perform_type(struct hand *hand, const struct action *action, struct error *err)
{
    bool longer = action->via == VIA_AUTO && action->characters > KEYS_AUTO_MAX;
    bool by_helper = (action->needs & NEED_TYPIST) || (longer && assist_of(hand)->type);
    hand->typed = 0;
    if ((by_helper ? type_by_helper : type_by_keys)(hand, action, err) == 0)
        return 0;
    struct error why = *err;
    /* The helper knows only that it was told to stop. */
    LOCK_SCOPE(&hand->display->mutex);
    if (by_helper && why.code == ERROR_TIMEOUT)
        hand_check_wanted(hand, &why);
    return error_set(err, why.code, "%.900s; %zu of %zu characters were typed", why.text, hand->typed,
                     action->characters);
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
static int pass_time(struct hand *hand, int64_t ms, bool input, struct error *err)
{
    LOCK_SCOPE(&hand->display->mutex);
    return hand_hold_until(hand, clock_monotonic_us() + ms * 1000, input, err);
}

static int perform_hold(struct hand *hand, const struct action *action, struct error *err)
{
    unsigned modifiers = 0;
    for (size_t k = 0; k < action->key_count; k++)
        modifiers |= action->keys[k].modifiers;
    if (keyboard_modifiers(hand, modifiers, true, err) < 0)
        return -1;
    for (size_t k = 0; k < action->key_count; k++)
        if (action->keys[k].key && keyboard_send(hand, action->keys[k].key, true, err) < 0)
            return -1;
    if (keyboard_drain(hand, err) < 0 || pass_time(hand, action->duration_ms, true, err) < 0)
        return -1;
    for (size_t k = action->key_count; k > 0; k--)
        if (action->keys[k - 1].key && keyboard_send(hand, action->keys[k - 1].key, false, err) < 0)
            return -1;
    return keyboard_modifiers(hand, modifiers, false, err);
}

/* --- what is no input ---------------------------------------------------------------------------------- */

static int perform_wait(struct hand *hand, const struct action *action, struct error *err)
{
    if (action->until == UNTIL_DURATION)
        return pass_time(hand, action->duration_ms, false, err);
    return watch_wait(hand->display, action, hand->cancel, hand->deadline_ms, err);
}

/* The answer is in the outcome. */
static int perform_nothing(struct hand *hand, const struct action *action, struct error *err)
{
    (void)hand, (void)action, (void)err;
    return 0;
}

/* --- all of them --------------------------------------------------------------------------------------- */

static const struct {
    int (*perform)(struct hand *, const struct action *, struct error *);
    bool input; /* it sends something to the guest */
    bool clean; /* modifiers that viewers hold down would turn it into something else */
} performers[] = {
    [ACTION_CLICK] = {perform_click, true, true},
    [ACTION_MOVE] = {perform_move, true, false},
    [ACTION_DRAG] = {perform_drag, true, true},
    [ACTION_MOUSE_DOWN] = {perform_button, true, true},
    [ACTION_MOUSE_UP] = {perform_button, true, false},
    [ACTION_SCROLL] = {perform_scroll, true, true},
    [ACTION_TYPE] = {perform_type, true, true},
    [ACTION_KEY] = {perform_keys, true, true},
    [ACTION_HOLD_KEY] = {perform_hold, true, true},
    [ACTION_WAIT] = {perform_wait, false, false},
    [ACTION_CURSOR_POSITION] = {perform_nothing, false, false},
};

static int check_point(const struct hand *hand, struct action_point point, struct error *err)
{
    if (point.x >= 0 && point.y >= 0 && (uint32_t)point.x < hand->width && (uint32_t)point.y < hand->height)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "the point (%d, %d) is outside the screen, which is %ux%u: x is 0 to %u, y is 0 to %u",
                     point.x, point.y, hand->width, hand->height, hand->width - 1, hand->height - 1);
}

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

/* Whether the screen is the one that the caller's coordinates refer to. */
static int check_frame(const struct hand *hand, const struct display_request *request, size_t done,
                       struct error *err)
{
    if (request->frame_width == 0 ||
        (request->frame_width == hand->width && request->frame_height == hand->height))
        return 0;
    return error_set(err, ERROR_FRAME_CHANGED,
                     "the screen is %ux%u now, not %ux%u as the \"frame\" of the request says%s; look again",
                     hand->width, hand->height, request->frame_width, request->frame_height,
                     done > 0 ? ": it changed while the actions were done, and the rest was not"
                              : ", and nothing was done");
}

/* Looks at the screen and the guest before an action. */
static int begin_action(struct hand *hand, const struct display_request *request, size_t done,
                        struct error *err)
{
    LOCK_SCOPE(&hand->display->mutex);
    hand->width = hand->display->width;
    hand->height = hand->display->height;
    bool input = performers[request->actions[done].kind].input;
    if ((input ? hand_check(hand, err) : hand_check_wanted(hand, err)) < 0)
        return -1;
    return check_frame(hand, request, done, err);
}

/* One whole action, with its modifiers around it, until QEMU has no more of it to deliver. */
static int perform_one(struct hand *hand, const struct display_request *request, size_t done,
                       struct error *err)
{
    const struct action *action = &request->actions[done];
    if (begin_action(hand, request, done, err) < 0 || check_action(hand, action, err) < 0)
        return -1;
    if (!performers[action->kind].input)
        return performers[action->kind].perform(hand, action, err);
    if (keyboard_begin(hand, err) < 0 ||
        (performers[action->kind].clean && keyboard_lift_others(hand, err) < 0) ||
        keyboard_modifiers(hand, action->modifiers, true, err) < 0 ||
        performers[action->kind].perform(hand, action, err) < 0 || pointer_settle(hand, err) < 0 ||
        keyboard_modifiers(hand, action->modifiers, false, err) < 0)
        return -1;
    return keyboard_drain(hand, err);
}

/* What the guest's helper can do. */
static unsigned abilities(const struct hand *hand)
{
    const struct display_helper *assist = assist_of(hand);
    return (assist->type ? NEED_TYPIST : 0u) | (assist->click ? NEED_BUTTONS : 0u) |
           (assist->scroll ? NEED_WHEEL : 0u);
}

/* Before the first is done; the one that cannot be is the number of those done. */
static int check_needs(const struct hand *hand, const struct display_request *request, size_t *at,
                       struct error *err)
{
    for (*at = 0; *at < request->count; ++*at)
        if (action_check_needs(&request->actions[*at], abilities(hand), err) < 0)
            return -1;
    *at = 0;
    return 0;
}

/* --- turns --------------------------------------------------------------------------------------------- */

/* Waits for one's turn; turns come in the order of the calls. The mutex is held. */
static int take_turn(struct hand *hand, struct hands_turn *turn, struct error *err)
{
    struct display *display = hand->display;
    struct hands_turn **end = &display->hands.turns;
    while (*end)
        end = &(*end)->next;
    *end = turn;
    while (display->hands.turns != turn) {
        if (clock_left_ms(hand->deadline_ms) == 0)
            return error_set(err, ERROR_TIMEOUT,
                             "another caller's actions on this guest were not done by the deadline");
        if (hand_check_wanted(hand, err) < 0)
            return -1;
        sync_cond_wait(&display->changed, &display->mutex, hand->deadline_ms);
    }
    return hand_check_wanted(hand, err);
}

static void leave_turn(struct display *display, const struct hands_turn *turn)
{
    struct hands_turn **link = &display->hands.turns;
    while (*link != turn)
        link = &(*link)->next;
    *link = turn->next;
    pthread_cond_broadcast(&display->changed);
}

/* What a caller's cancel wakes: every wait of ours, and the guest's helper. */
struct waking {
    struct display *display;
    struct cancel *stop;
};

static void wake(void *context)
{
    struct waking *waking = context;
    cancel_fire(waking->stop);
    LOCK_SCOPE(&waking->display->mutex);
    pthread_cond_broadcast(&waking->display->changed);
}

/* From the turn's beginning to its end, with the mutex held before and after. */
static int perform_all(struct hand *hand, const struct display_request *request, struct cancel *stop,
                       struct display_outcome *outcome, struct error *err)
{
    struct display *display = hand->display;
    outcome->sequence = display->sequence;
    outcome->began_ms = clock_monotonic_ms();
    display->hands.stop = stop;
    pthread_mutex_unlock(&display->mutex);
    bool failed = false;
    while (!failed && outcome->done < request->count) {
        failed = perform_one(hand, request, outcome->done, err) < 0;
        holds_press(display->hands.holds, false);
        outcome->done += !failed;
    }
    hand_join(hand);
    pthread_mutex_lock(&display->mutex);
    display->hands.stop = NULL;
    if (failed)
        hands_release(display);
    outcome->ended_ms = display->acted_ms = clock_monotonic_ms();
    return failed ? -1 : 0;
}

int display_perform(struct display *display, const struct display_request *request, struct cancel *cancel,
                    int64_t deadline_ms, struct display_outcome *outcome, struct error *err)
{
    struct hands_turn turn = {.next = NULL};
    struct hand hand = {.display = display, .cancel = cancel, .deadline_ms = deadline_ms};
    *outcome = (struct display_outcome){.pointer_x = -1, .pointer_y = -1};
    size_t at;
    if (check_needs(&hand, request, &at, err) < 0)
        return request->count > 1 ? error_prefix(err, "nothing was done because of action %zu", at) : -1;
    CLEANUP(cleanup_cancel) struct cancel *stop = cancel_new();
    struct waking waking = {display, stop};
    cancel_listen(cancel, wake, &waking);
    pthread_mutex_lock(&display->mutex);
    int performed = take_turn(&hand, &turn, err);
    if (performed == 0)
        performed = perform_all(&hand, request, stop, outcome, err);
    leave_turn(display, &turn);
    outcome->width = hand.width ? hand.width : display->width;
    outcome->height = hand.height ? hand.height : display->height;
    holds_position(display->hands.holds, &outcome->pointer_x, &outcome->pointer_y);
    pthread_mutex_unlock(&display->mutex);
    cancel_unlisten(cancel);
    return performed;
}
