/* A display session against fake_rfb.h, and what tests of its eyes and of its hands share. */
#ifndef BERTHOS_TESTS_DISPLAY_FIXTURE_H
#define BERTHOS_TESTS_DISPLAY_FIXTURE_H

#include <linux/input-event-codes.h>

#include "display/display.h"
#include "fake_rfb.h"
#include "protocol/action.h"
#include "protocol/key_names.h"

#define WIDTH  200 /* no multiple of 16 */
#define HEIGHT 120

static inline struct display *open_good(struct fake *fake)
{
    struct error err = ERROR_INIT;
    struct display *display = display_open(fake->client_fd, NULL, NULL, 5000, &err);
    assert_string_equal(err.text, "");
    assert_non_null(display);
    return display;
}

static inline struct frame *capture_good(struct display *display)
{
    struct error err = ERROR_INIT;
    struct frame *frame = display_capture(display, clock_deadline(5000), &err);
    assert_string_equal(err.text, "");
    assert_non_null(frame);
    return frame;
}

static inline void assert_shows(const struct frame *frame, uint32_t seed, int width, int height)
{
    assert_int_equal(frame->width, width);
    assert_int_equal(frame->height, height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            assert_int_equal(frame->pixels[y * width + x], fake_pixel(seed, x, y));
}

static inline int perform(struct display *display, const char *text, struct display_outcome *outcome,
                          struct error *err)
{
    json_t *document = json_loads(text, 0, NULL);
    struct action action = {.kind = ACTION_CLICK};
    assert_non_null(document);
    assert_int_equal(action_decode(document, &action, err), 0);
    int result = display_perform(display, &(struct display_request){&action, 1, 0, 0}, NULL,
                                 clock_deadline(60000), outcome, err);
    action_clear(&action);
    json_decref(document);
    return result;
}

static inline void perform_good(struct display *display, const char *text)
{
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    int result = perform(display, text, &outcome, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(result, 0);
    assert_int_equal(outcome.done, 1);
}

static inline size_t events_of(struct fake *fake)
{
    pthread_mutex_lock(&fake->mutex);
    size_t count = fake->event_count;
    pthread_mutex_unlock(&fake->mutex);
    return count;
}

/* Every key that went down has come up, and no button is down. */
static inline void assert_released(struct fake *fake)
{
    int down[256] = {0}, mask = 0;
    for (size_t i = 0; i < fake->event_count; i++) {
        if (fake->events[i].kind == 'k')
            down[fake->events[i].code] = fake->events[i].down;
        else
            mask = fake->events[i].mask;
    }
    for (int i = 0; i < 256; i++)
        assert_int_equal(down[i], 0);
    assert_int_equal(mask, 0);
}

struct waiter {
    struct display *display;
    struct error err;
    const char *action; /* performed; NULL: captures */
    int result;
};

static inline void *wait_for_frame(void *argument)
{
    struct waiter *waiter = argument;
    struct display_outcome outcome;
    if (waiter->action) {
        waiter->result = perform(waiter->display, waiter->action, &outcome, &waiter->err);
        return NULL;
    }
    struct frame *frame = display_capture(waiter->display, clock_deadline(20000), &waiter->err);
    waiter->result = frame ? 0 : -1;
    frame_release(frame);
    return NULL;
}

/* What a guest with a US layout would have in its text field. Only letters, digits and signs. */
static inline size_t read_typed(struct fake *fake, char *text, size_t size)
{
    size_t length = 0;
    bool shift = false;
    LOCK_SCOPE(&fake->mutex);
    for (size_t i = 0; i < fake->event_count; i++) {
        struct fake_event event = fake->events[i];
        if (event.kind != 'k')
            continue;
        if (event.code == KEY_LEFTSHIFT)
            shift = event.down;
        else if (event.down)
            for (uint32_t c = 1; c < 128 && length < size; c++) {
                struct key_chord chord;
                if (keys_from_character(c, &chord) && chord.key == event.code &&
                    (chord.modifiers == MODIFIER_SHIFT) == shift)
                    text[length++] = (char)c;
            }
    }
    return length;
}

#endif
