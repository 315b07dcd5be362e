#include "display/perform.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "display/keyboard.h"
#include "display/pointer.h"
#include "display/watch.h"
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

static int64_t helper_deadline(const struct turn *turn, size_t characters)
{
    int64_t until_ms = clock_deadline(HELPER_MS + HELPER_CHARACTER_MS * (int64_t)characters);
    return until_ms < turn->deadline_ms ? until_ms : turn->deadline_ms;
}

/* --- the pointer --------------------------------------------------------------------------------------- */

static uint8_t button_bit(enum action_button button)
{
    return (uint8_t)(1u << button);
}

/* Moves to a pixel and presses there, so many times. */
static int press_at(struct turn *turn, struct action_point at, uint8_t others, uint8_t pressed, int32_t times,
                    struct error *err)
{
    if (pointer_send(turn, at, others, err) < 0)
        return -1;
    for (int32_t i = 0; i < times; i++)
        if (pointer_send(turn, at, others | pressed, err) < 0 || pointer_send(turn, at, others, err) < 0)
            return -1;
    return 0;
}

/* The tablet has to be where the helper puts the pointer: its next position, if it is the same, is no event.
 */
static int click_by_helper(struct turn *turn, const struct action *action, struct error *err)
{
    const struct display_helper *helper = &turn->input->helper;
    if (pointer_send(turn, action->point, pointer_buttons(turn), err) < 0 || keyboard_settle(turn, err) < 0)
        return -1;
    return helper->click(helper->context, action->point, action->button, action->count,
                         helper_deadline(turn, 0), err);
}

static int perform_click(struct turn *turn, const struct action *action, struct error *err)
{
    if (action->button >= BUTTON_BACK)
        return click_by_helper(turn, action, err);
    uint8_t pressed = button_bit(action->button);
    return press_at(turn, action->point, pointer_buttons(turn) & (uint8_t)~pressed, pressed, action->count,
                    err);
}

static int perform_move(struct turn *turn, const struct action *action, struct error *err)
{
    return pointer_send(turn, action->point, pointer_buttons(turn), err);
}

/* Points on the way, close enough together for programs that follow the pointer. */
static int drag_to(struct turn *turn, struct action_point from, struct action_point to, uint8_t buttons,
                   struct error *err)
{
    int32_t dx = to.x - from.x, dy = to.y - from.y;
    int32_t reach = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    int32_t steps = reach / DRAG_PIXELS;
    steps = steps < 2 ? 2 : steps > DRAG_STEPS ? DRAG_STEPS : steps;
    for (int32_t i = 1; i <= steps; i++) {
        struct action_point at = {from.x + dx * i / steps, from.y + dy * i / steps};
        if (pointer_send(turn, at, buttons, err) < 0)
            return -1;
    }
    return 0;
}

static int perform_drag(struct turn *turn, const struct action *action, struct error *err)
{
    uint8_t others = pointer_buttons(turn) & (uint8_t)~button_bit(action->button);
    uint8_t held = others | button_bit(action->button);
    if (pointer_send(turn, action->path[0], others, err) < 0 ||
        pointer_send(turn, action->path[0], held, err) < 0)
        return -1;
    for (size_t i = 1; i < action->path_count; i++)
        if (drag_to(turn, action->path[i - 1], action->path[i], held, err) < 0)
            return -1;
    return pointer_send(turn, action->path[action->path_count - 1], others, err);
}

/* mouse_down and mouse_up. */
static int perform_button(struct turn *turn, const struct action *action, struct error *err)
{
    uint8_t before = pointer_buttons(turn);
    uint8_t after = action->kind == ACTION_MOUSE_DOWN ? before | button_bit(action->button)
                                                      : before & (uint8_t)~button_bit(action->button);
    struct action_point at = action->point;
    if (action->has_point) {
        if (pointer_send(turn, at, before, err) < 0)
            return -1;
    } else if (!holds_position(turn->input->holds, &at.x, &at.y)) {
        return error_set(err, ERROR_BAD_REQUEST, "the pointer has not been moved yet: give x and y");
    }
    return pointer_send(turn, at, after, err);
}

/* A press of a wheel button is a notch, its release nothing. */
static int perform_scroll(struct turn *turn, const struct action *action, struct error *err)
{
    const struct display_helper *helper = &turn->input->helper;
    uint8_t wheel = (uint8_t)(1u << (action->dy > 0 ? WHEEL_DOWN : WHEEL_UP));
    if (press_at(turn, action->point, pointer_buttons(turn), wheel, abs(action->dy), err) < 0)
        return -1;
    if (action->dx == 0)
        return 0;
    if (keyboard_settle(turn, err) < 0)
        return -1;
    return helper->scroll(helper->context, action->point, action->dx, helper_deadline(turn, 0), err);
}

/* --- the keyboard -------------------------------------------------------------------------------------- */

static int press_chord(struct turn *turn, struct key_chord chord, struct error *err)
{
    if (keyboard_modifiers(turn, chord.modifiers, true, err) < 0)
        return -1;
    if (chord.key && keyboard_tap(turn, chord.key, false, err) < 0)
        return -1;
    return keyboard_modifiers(turn, chord.modifiers, false, err);
}

/* Shift stays down over neighbours that both need it: a shifted character alone costs four events. */
static int type_by_keys(struct turn *turn, const struct action *action, struct error *err)
{
    unsigned held = 0;
    size_t size = strlen(action->text), length;
    for (size_t at = 0; at < size; at += length) {
        uint32_t code_point;
        struct key_chord chord;
        length = text_decode(action->text + at, size - at, &code_point);
        if (length == 0 || !keys_from_character(code_point, &chord))
            return error_set(err, ERROR_UNTYPABLE, "the text holds a character that cannot be typed exactly");
        if (keyboard_modifiers(turn, held & ~chord.modifiers, false, err) < 0 ||
            keyboard_modifiers(turn, chord.modifiers & ~held, true, err) < 0 ||
            keyboard_tap(turn, chord.key, true, err) < 0)
            return -1;
        held = chord.modifiers;
        if (!held && keyboard_pause(turn, err) < 0)
            return -1;
    }
    return keyboard_modifiers(turn, held, false, err) < 0 ? -1 : keyboard_drain(turn, err);
}

/* After everything that was sent before, which its own way into the guest would overtake. */
static int type_by_helper(struct turn *turn, const struct action *action, struct error *err)
{
    const struct display_helper *helper = &turn->input->helper;
    if (keyboard_settle(turn, err) < 0)
        return -1;
    return helper->type(helper->context, action->text, strlen(action->text), turn->input->stop,
                        helper_deadline(turn, action->characters), &turn->typed, err);
}

static int perform_type(struct turn *turn, const struct action *action, struct error *err)
{
    bool longer = action->via == VIA_AUTO && action->characters > KEYS_AUTO_MAX;
    bool by_helper = (action->needs & NEED_TYPIST) || (longer && turn->input->helper.type);
    turn->typed = 0;
    if ((by_helper ? type_by_helper : type_by_keys)(turn, action, err) == 0)
        return 0;
    struct error why = *err;
    /* The helper knows only that it was told to stop. */
    LOCK_SCOPE(&turn->session->mutex);
    if (by_helper && why.code == ERROR_TIMEOUT)
        turn_check_wanted(turn, &why);
    return error_set(err, why.code, "%.900s; %zu of %zu characters were typed", why.text, turn->typed,
                     action->characters);
}

static int perform_keys(struct turn *turn, const struct action *action, struct error *err)
{
    for (int i = 0; i < action->repeat; i++)
        for (size_t k = 0; k < action->key_count; k++)
            if (press_chord(turn, action->keys[k], err) < 0)
                return -1;
    return 0;
}

/* Sleeps for a time without keeping anybody from looking. */
static int pass_time(struct turn *turn, int64_t ms, bool input, struct error *err)
{
    LOCK_SCOPE(&turn->session->mutex);
    return turn_hold_until(turn, clock_monotonic_us() + ms * 1000, input, err);
}

static int perform_hold(struct turn *turn, const struct action *action, struct error *err)
{
    unsigned modifiers = 0;
    for (size_t k = 0; k < action->key_count; k++)
        modifiers |= action->keys[k].modifiers;
    if (keyboard_modifiers(turn, modifiers, true, err) < 0)
        return -1;
    for (size_t k = 0; k < action->key_count; k++)
        if (action->keys[k].key && keyboard_send(turn, action->keys[k].key, true, err) < 0)
            return -1;
    if (keyboard_drain(turn, err) < 0 || pass_time(turn, action->duration_ms, true, err) < 0)
        return -1;
    for (size_t k = action->key_count; k > 0; k--)
        if (action->keys[k - 1].key && keyboard_send(turn, action->keys[k - 1].key, false, err) < 0)
            return -1;
    return keyboard_modifiers(turn, modifiers, false, err);
}

/* --- what is no input ---------------------------------------------------------------------------------- */

static int perform_wait(struct turn *turn, const struct action *action, struct error *err)
{
    if (action->until == UNTIL_DURATION)
        return pass_time(turn, action->duration_ms, false, err);
    return watch_wait(turn->session, action, turn->cancel, turn->deadline_ms, err);
}

/* The answer is in the outcome. */
static int perform_nothing(struct turn *turn, const struct action *action, struct error *err)
{
    (void)turn, (void)action, (void)err;
    return 0;
}

/* --- all of them --------------------------------------------------------------------------------------- */

static const struct {
    int (*perform)(struct turn *, const struct action *, struct error *);
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

static int check_point(const struct turn *turn, struct action_point point, struct error *err)
{
    if (point.x >= 0 && point.y >= 0 && (uint32_t)point.x < turn->width && (uint32_t)point.y < turn->height)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "the point (%d, %d) is outside the screen, which is %ux%u: x is 0 to %u, y is 0 to %u",
                     point.x, point.y, turn->width, turn->height, turn->width - 1, turn->height - 1);
}

static int check_action(const struct turn *turn, const struct action *action, struct error *err)
{
    if (action->has_point && check_point(turn, action->point, err) < 0)
        return -1;
    for (size_t i = 0; i < action->path_count; i++)
        if (check_point(turn, action->path[i], err) < 0)
            return -1;
    if (!action->has_region)
        return 0;
    struct action_region region = action->region;
    struct action_point last = {region.x + region.width - 1, region.y + region.height - 1};
    return check_point(turn, (struct action_point){region.x, region.y}, err) < 0
               ? -1
               : check_point(turn, last, err);
}

/* Whether the screen is the one that the caller's coordinates refer to. */
static int check_frame(const struct turn *turn, struct error *err)
{
    if (turn->frame_width == 0 || (turn->frame_width == turn->width && turn->frame_height == turn->height))
        return 0;
    return error_set(err, ERROR_FRAME_CHANGED,
                     "the screen is %ux%u now, not %ux%u as the \"frame\" of the request says%s; look again",
                     turn->width, turn->height, turn->frame_width, turn->frame_height,
                     turn->done > 0 ? ": it changed while the actions were done, and the rest was not"
                                    : ", and nothing was done");
}

/* Looks at the screen and the guest before an action. */
static int begin_action(struct turn *turn, bool input, struct error *err)
{
    LOCK_SCOPE(&turn->session->mutex);
    turn->width = turn->session->width;
    turn->height = turn->session->height;
    if ((input ? turn_check(turn, err) : turn_check_wanted(turn, err)) < 0)
        return -1;
    return check_frame(turn, err);
}

int perform_action(struct turn *turn, const struct action *action, struct error *err)
{
    bool input = performers[action->kind].input;
    if (begin_action(turn, input, err) < 0 || check_action(turn, action, err) < 0)
        return -1;
    if (!input)
        return performers[action->kind].perform(turn, action, err);
    if (keyboard_begin(turn, err) < 0 ||
        (performers[action->kind].clean && keyboard_lift_others(turn, err) < 0) ||
        keyboard_modifiers(turn, action->modifiers, true, err) < 0 ||
        performers[action->kind].perform(turn, action, err) < 0 || pointer_settle(turn, err) < 0 ||
        keyboard_modifiers(turn, action->modifiers, false, err) < 0)
        return -1;
    return keyboard_drain(turn, err);
}

int perform_check(const struct turn *turn, const struct action *action, struct error *err)
{
    const struct display_helper *helper = &turn->input->helper;
    unsigned has = (helper->type ? NEED_TYPIST : 0u) | (helper->click ? NEED_BUTTONS : 0u) |
                   (helper->scroll ? NEED_WHEEL : 0u);
    return action_check_needs(action, has, err);
}
