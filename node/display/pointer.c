/* The pointer of a session: what goes out, to which pixel, at which pace (hands.h). */
#include <string.h>

#include "base/clock.h"
#include "display/session.h"

#define POINTER_US 1000 /* between two messages */

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

/* The message for a pixel. The screen may have become smaller since the pixel was named. */
static void pointer_bytes(const struct display *display, int32_t at_x, int32_t at_y, uint8_t buttons,
                          unsigned char bytes[HANDS_POINTER_BYTES])
{
    uint32_t width = display->width ? display->width : 1;
    uint32_t x = (uint32_t)at_x, y = (uint32_t)at_y;
    x = scale(x < width ? x : width - 1, width, (width + 15) / 16 * 16);
    const unsigned char message[HANDS_POINTER_BYTES] = {
        5, buttons, (unsigned char)(x >> 8), (unsigned char)x, (unsigned char)(y >> 8), (unsigned char)y};
    memcpy(bytes, message, HANDS_POINTER_BYTES);
}

size_t pointer_release(struct display *display, unsigned char bytes[HANDS_POINTER_BYTES])
{
    return pointer_set(display, 0, bytes);
}

size_t pointer_set(struct display *display, uint8_t buttons, unsigned char bytes[HANDS_POINTER_BYTES])
{
    struct hands *hands = &display->hands;
    int32_t x = 0, y = 0;
    holds_position(hands->holds, &x, &y);
    holds_pointer(hands->holder, x, y, buttons);
    pointer_bytes(display, x, y, buttons, bytes);
    hands->moves_sent++;
    return HANDS_POINTER_BYTES;
}

/* Whether keys are unproven (a click must not overtake them) or the window is full. */
static bool must_prove(struct hand *hand)
{
    const struct hands *hands = &hand->display->hands;
    LOCK_SCOPE(&hand->display->mutex);
    return hand->chunk_count > 0 || hands->keys_taken < hands->keys_sent ||
           hands->moves_sent - hands->moves_taken >= MOVES_WINDOW;
}

int pointer_send(struct hand *hand, struct action_point at, uint8_t buttons, struct error *err)
{
    struct display *display = hand->display;
    struct hands *hands = &display->hands;
    unsigned char bytes[HANDS_POINTER_BYTES];
    if (must_prove(hand) && hand_settle(hand, err) < 0)
        return -1;
    LOCK_SCOPE(&display->mutex);
    if (hand_hold_until(hand, hands->pointer_us, true, err) < 0)
        return -1;
    pointer_bytes(display, at.x, at.y, buttons, bytes);
    uint64_t ping = session_post(display, bytes, sizeof bytes, err);
    if (ping == 0)
        return -1;
    holds_pointer(hands->holder, at.x, at.y, buttons);
    hands->moves_sent++;
    hands->move_ping = ping;
    hands->pointer_us = clock_monotonic_us() + POINTER_US;
    return 0;
}

int pointer_settle(struct hand *hand, struct error *err)
{
    LOCK_SCOPE(&hand->display->mutex);
    return hand_await(hand, hand->display->hands.move_ping, err);
}

uint8_t pointer_buttons(const struct hand *hand)
{
    uint32_t keys[HOLDS_KEYS_MAX];
    uint8_t buttons;
    holds_mine(hand->display->hands.holder, keys, &buttons);
    return buttons;
}
