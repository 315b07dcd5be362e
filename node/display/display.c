#include "display/display.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "display/display_inside.h"
#include "display/rfb_thread.h"
#include "display/watch.h"

static void free_display(struct display *display)
{
    input_close(&display->input);
    pictures_close(&display->pictures);
    session_clear(&display->session);
    free(display);
}
CLEANUP_DEFINE(free_display, struct display *, free_display);

struct display *display_open(int fd, const struct display_helper *helper, struct holds *holds,
                             struct picture_budget *all, int64_t timeout_ms, struct error *err)
{
    CLEANUP(cleanup_free_display) struct display *display = memory_new(sizeof *display);
    session_init(&display->session);
    pictures_open(&display->pictures, &display->session, all);
    input_open(&display->input, &display->session, helper, holds);
    if (rfb_thread_start(&display->session, fd, timeout_ms, err) < 0)
        return NULL;
    LOCK_SCOPE(&display->session.mutex);
    input_inherit(&display->input);
    return TAKE(display);
}

void display_shutdown(struct display *display)
{
    LOCK_SCOPE(&display->session.mutex);
    display->session.ended = true;
    if (display->input.stop)
        cancel_fire(display->input.stop);
    pthread_cond_broadcast(&display->session.changed);
}

void display_close(struct display *display)
{
    pthread_mutex_lock(&display->session.mutex);
    input_release(&display->input);
    pthread_mutex_unlock(&display->session.mutex);
    rfb_thread_stop(&display->session);
    free_display(display);
}

struct frame *display_capture(struct display *display, int64_t deadline_ms, struct error *err)
{
    int64_t since_ms = clock_monotonic_ms() - FRESH_SLACK_MS;
    LOCK_SCOPE(&display->session.mutex);
    struct frame *frame = session_frame(&display->session, since_ms, NULL, deadline_ms, err);
    return frame ? frame_share(frame) : NULL;
}

bool display_lost(struct display *display, struct error *err)
{
    LOCK_SCOPE(&display->session.mutex);
    return !display->session.ended && session_check(&display->session, err) < 0;
}

struct frame *display_wait_drawn(struct display *display, uint32_t width, uint32_t height,
                                 int64_t deadline_ms, struct error *err)
{
    for (;;) {
        CLEANUP_FRAME struct frame *frame = display_capture(display, deadline_ms, err);
        if (!frame)
            return NULL;
        if (frame->width == width && frame->height == height && !frame_is_blank(frame))
            return TAKE(frame);
        if (clock_left_ms(deadline_ms) == 0) {
            error_set(err, ERROR_GUEST_FAILED,
                      "the guest has drawn nothing at %ux%u by the deadline; its screen is %ux%u%s", width,
                      height, frame->width, frame->height, frame_is_blank(frame) ? " and blank" : "");
            return NULL;
        }
        if (watch_since(&display->session, frame->sequence, deadline_ms, err) < 0)
            return NULL;
    }
}
