#include "display/pointer.h"

#include <string.h>

#include "base/clock.h"
#include "display/keyboard.h"

#define POINTER_US 1000 /* between two messages */

/*
 * QEMU divides by a width that is rounded up to 16 (*read*, ui/vnc.c), and a guest maps the 15 bits that
 * arrive to its own width. The value whose pixel in the guest is nearest to the one asked for.
 */
static uint32_t scale_to(uint32_t at, uint32_t size, uint32_t rounded)
{
    if (size == rounded)
        return at;
    uint32_t best = at;
    double nearest = size;
    for (uint32_t value = at * rounded / size; value <= at * rounded / size + 1; value++) {
        uint32_t bits = value * 32767 / rounded; /* as QEMU cuts them */
        double pixel = (double)bits * size / 32768;
        double distance = pixel > at ? pixel - at : at - pixel;
        if (distance < nearest) {
            nearest = distance;
            best = value;
        }
    }
    return best;
}

/* The message for a pixel. The screen may have become smaller since the pixel was named. */
static void pointer_bytes(const struct session *session, int32_t at_x, int32_t at_y, uint8_t buttons,
                          unsigned char bytes[POINTER_BYTES])
{
    uint32_t width = session->width ? session->width : 1;
    uint32_t x = (uint32_t)at_x, y = (uint32_t)at_y;
    x = scale_to(x < width ? x : width - 1, width, (width + 15) / 16 * 16);
    const unsigned char message[POINTER_BYTES] = {
        5, buttons, (unsigned char)(x >> 8), (unsigned char)x, (unsigned char)(y >> 8), (unsigned char)y};
    memcpy(bytes, message, POINTER_BYTES);
}

size_t pointer_set(struct input_state *input, uint8_t buttons, unsigned char bytes[POINTER_BYTES])
{
    int32_t x = 0, y = 0;
    holds_position(input->holds, &x, &y);
    holds_pointer(input->holder, x, y, buttons);
    pointer_bytes(input->session, x, y, buttons, bytes);
    input->moves_sent++;
    return POINTER_BYTES;
}

/* Whether keys are unproven (a click must not overtake them) or the window is full. */
static bool must_prove(struct turn *turn)
{
    const struct input_state *input = turn->input;
    LOCK_SCOPE(&turn->session->mutex);
    return turn->chunk_count > 0 || input->keys_taken < input->keys_sent ||
           input->moves_sent - input->moves_taken >= MOVES_WINDOW;
}

int pointer_send(struct turn *turn, struct action_point at, uint8_t buttons, struct error *err)
{
    struct session *session = turn->session;
    struct input_state *input = turn->input;
    unsigned char bytes[POINTER_BYTES];
    if (must_prove(turn) && keyboard_settle(turn, err) < 0)
        return -1;
    LOCK_SCOPE(&session->mutex);
    if (turn_hold_until(turn, input->pointer_us, true, err) < 0)
        return -1;
    pointer_bytes(session, at.x, at.y, buttons, bytes);
    uint64_t ping = session_post(session, bytes, sizeof bytes, err);
    if (ping == 0)
        return -1;
    holds_pointer(input->holder, at.x, at.y, buttons);
    input->moves_sent++;
    input->move_ping = ping;
    input->pointer_us = clock_monotonic_us() + POINTER_US;
    return 0;
}

int pointer_settle(struct turn *turn, struct error *err)
{
    LOCK_SCOPE(&turn->session->mutex);
    return turn_await(turn, turn->input->move_ping, err);
}

uint8_t pointer_buttons(const struct turn *turn)
{
    uint32_t keys[HOLDS_KEYS_MAX];
    uint8_t buttons;
    holds_mine(turn->input->holder, keys, &buttons);
    return buttons;
}
