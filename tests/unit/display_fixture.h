/* A display session against fake_rfb.h, and what tests of looking and of input share. */
#ifndef BERTHOS_TESTS_DISPLAY_FIXTURE_H
#define BERTHOS_TESTS_DISPLAY_FIXTURE_H

#include <linux/input-event-codes.h>

#include "display/display.h"
#include "fake_rfb.h"
#include "protocol/action.h"
#include "protocol/key_names.h"

#define WIDTH  200 /* no multiple of 16 */
#define HEIGHT 120

static inline void stop_fake(void *fake)
{
    fake_stop(fake);
}

/* A server until the end of the test. */
static inline struct fake *start_fake(int width, int height, enum fake_fault fault)
{
    struct fake *fake = fake_start(width, height, fault);
    at_end(stop_fake, fake);
    return fake;
}

static inline void close_display(void *display)
{
    display_close(display);
}

/* A display of the server's until the end of the test. */
static inline struct display *open_helped(struct fake *fake, const struct display_helper *helper,
                                          struct holds *holds)
{
    struct error err = ERROR_INIT;
    struct display *display = display_open(fake->client_fd, helper, holds, NULL, 5000, &err);
    assert_string_equal(err.text, "");
    assert_non_null(display);
    at_end(close_display, display);
    return display;
}

static inline struct display *open_good(struct fake *fake)
{
    return open_helped(fake, NULL, NULL);
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

static inline int perform_until(struct display *display, const char *text, struct cancel *cancel,
                                struct display_outcome *outcome, struct error *err)
{
    json_t *document = json_loads(text, 0, NULL);
    struct action action = {.kind = ACTION_CLICK};
    assert_non_null(document);
    assert_int_equal(action_decode(document, &action, err), 0);
    int result = display_perform(display, &(struct display_request){&action, 1, 0, 0}, cancel,
                                 clock_deadline(60000), outcome, err);
    action_clear(&action);
    json_decref(document);
    return result;
}

static inline int perform(struct display *display, const char *text, struct display_outcome *outcome,
                          struct error *err)
{
    return perform_until(display, text, NULL, outcome, err);
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
    LOCK_SCOPE(&fake->mutex);
    return fake->event_count;
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

/* A caller with a thread of its own. */
struct waiter {
    struct display *display;
    const char *action;    /* performed; NULL: captures */
    struct cancel *cancel; /* or NULL */
    struct error err;
    int result;
    int64_t ended_ms;
    pthread_t thread;
    bool runs;
};

static inline void *run_waiter(void *argument)
{
    struct waiter *waiter = argument;
    struct display_outcome outcome;
    if (waiter->action) {
        waiter->result =
            perform_until(waiter->display, waiter->action, waiter->cancel, &outcome, &waiter->err);
    } else {
        struct frame *frame = display_capture(waiter->display, clock_deadline(20000), &waiter->err);
        waiter->result = frame ? 0 : -1;
        frame_release(frame);
    }
    waiter->ended_ms = clock_monotonic_ms();
    return NULL;
}

static inline void join_waiter(struct waiter *waiter)
{
    pthread_join(waiter->thread, NULL);
    waiter->runs = false;
}

/* Where the test has not joined it: the display is shut, so that nobody waits for what will not come. */
static inline void end_waiter(void *argument)
{
    struct waiter *waiter = argument;
    if (waiter->runs) {
        display_shutdown(waiter->display);
        join_waiter(waiter);
    }
    if (waiter->cancel)
        cancel_free(waiter->cancel);
}

/* Until the end of the test. With a cancel of its own when that is wanted. */
static inline struct waiter *start_waiter(struct display *display, const char *action, bool cancellable)
{
    struct waiter *waiter = unit_room(sizeof *waiter);
    waiter->display = display;
    waiter->action = action;
    waiter->cancel = cancellable ? cancel_new() : NULL;
    waiter->runs = true;
    pthread_create(&waiter->thread, NULL, run_waiter, waiter);
    at_end(end_waiter, waiter);
    return waiter;
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
