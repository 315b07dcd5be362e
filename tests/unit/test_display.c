/* The display session against a server that behaves as QEMU's. CASES.md 1, 6, 8, 9, 11. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/input-event-codes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "display/display.h"
#include "fake_rfb.h"
#include "protocol/action.h"
#include "protocol/keys.h"

#define WIDTH  200 /* no multiple of 16 */
#define HEIGHT 120

static struct display *open_good(struct fake *fake)
{
    struct error err = ERROR_INIT;
    struct display *display = display_open(fake->client_fd, NULL, NULL, 5000, &err);
    assert_string_equal(err.text, "");
    assert_non_null(display);
    return display;
}

static struct display_frame *capture_good(struct display *display)
{
    struct error err = ERROR_INIT;
    struct display_frame *frame = display_capture(display, clock_deadline(5000), &err);
    assert_string_equal(err.text, "");
    assert_non_null(frame);
    return frame;
}

static void assert_shows(const struct display_frame *frame, uint32_t seed, int width, int height)
{
    assert_int_equal(frame->width, width);
    assert_int_equal(frame->height, height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            assert_int_equal(frame->pixels[y * width + x], fake_pixel(seed, x, y));
}

static int perform(struct display *display, const char *text, struct display_outcome *outcome,
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

static void perform_good(struct display *display, const char *text)
{
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    int result = perform(display, text, &outcome, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(result, 0);
    assert_int_equal(outcome.done, 1);
}

static size_t events_of(struct fake *fake)
{
    pthread_mutex_lock(&fake->mutex);
    size_t count = fake->event_count;
    pthread_mutex_unlock(&fake->mutex);
    return count;
}

/* Every key that went down has come up, and no button is down. */
static void assert_released(struct fake *fake)
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

static void shows_what_is_drawn(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    uint64_t last = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        FAKE_SET(fake, seed, seed);
        clock_sleep_ms(65); /* past the slack: a frame of before would be too old */
        struct display_frame *frame = capture_good(display);
        assert_shows(frame, seed, WIDTH, HEIGHT);
        assert_true(frame->sequence > last);
        assert_false(display_frame_is_blank(frame));
        last = frame->sequence;
        display_frame_release(frame);
    }
    display_close(display);
    fake_stop(fake);
}

static void shares_a_frame_that_did_not_change(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct display_frame *first = capture_good(display);
    clock_sleep_ms(80);
    struct display_frame *second = capture_good(display);
    assert_ptr_equal(first, second);
    FAKE_SET(fake, seed, 2);
    clock_sleep_ms(80);
    struct display_frame *third = capture_good(display);
    assert_ptr_not_equal(first, third);
    assert_shows(first, 1, WIDTH, HEIGHT); /* a frame that is held never changes */
    display_close(display);
    assert_shows(third, 2, WIDTH, HEIGHT);
    display_frame_release(first);
    display_frame_release(second);
    display_frame_release(third);
    fake_stop(fake);
}

static void follows_sizes_without_a_torn_frame(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    FAKE_SET(fake, halves, true);
    const int sizes[][2] = {{320, 200}, {1366, 76}, {16, 16}, {33, 7}, {640, 480}};
    for (uint32_t i = 0; i < 5; i++) {
        pthread_mutex_lock(&fake->mutex);
        fake->width = sizes[i][0];
        fake->height = sizes[i][1];
        fake->seed = 100 + i;
        fake->resize = true;
        pthread_mutex_unlock(&fake->mutex);
        fake_wake(fake);
        clock_sleep_ms(40); /* in the middle of the two halves */
        struct display_frame *frame = capture_good(display);
        assert_shows(frame, 100 + i, sizes[i][0], sizes[i][1]);
        display_frame_release(frame);
    }
    display_close(display);
    fake_stop(fake);
}

static void a_silent_server_is_an_error_in_time(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    display_frame_release(capture_good(display));
    FAKE_SET(fake, mute, true);
    clock_sleep_ms(80);
    struct error err = ERROR_INIT;
    int64_t began = clock_monotonic_ms();
    assert_null(display_capture(display, clock_deadline(200), &err));
    assert_in_range(clock_monotonic_ms() - began, 150, 2000);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    FAKE_SET(fake, mute, false); /* a moment of silence does not end the session */
    display_frame_release(capture_good(display));

    FAKE_SET(fake, mute, true); /* a long one does, and every call after it fails at once */
    clock_sleep_ms(80);
    assert_null(display_capture(display, clock_deadline(5200), &err));
    began = clock_monotonic_ms();
    assert_null(display_capture(display, clock_deadline(5000), &err));
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    assert_true(clock_monotonic_ms() - began < 1000);
    display_close(display);
    fake_stop(fake);
}

struct waiter {
    struct display *display;
    struct error err;
    const char *action; /* performed; NULL: captures */
    int result;
};

static void *wait_for_frame(void *argument)
{
    struct waiter *waiter = argument;
    struct display_outcome outcome;
    if (waiter->action) {
        waiter->result = perform(waiter->display, waiter->action, &outcome, &waiter->err);
        return NULL;
    }
    struct display_frame *frame = display_capture(waiter->display, clock_deadline(20000), &waiter->err);
    waiter->result = frame ? 0 : -1;
    display_frame_release(frame);
    return NULL;
}

/* The server dies in the middle of a frame: everybody who waits is told. */
static void a_cut_frame_wakes_all(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    display_frame_release(capture_good(display));
    FAKE_SET(fake, cut_short, true);
    FAKE_SET(fake, seed, 2);
    clock_sleep_ms(80);
    struct waiter waiters[20];
    pthread_t threads[20];
    for (int i = 0; i < 20; i++) {
        waiters[i] = (struct waiter){.display = display};
        pthread_create(&threads[i], NULL, wait_for_frame, &waiters[i]);
    }
    for (int i = 0; i < 20; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(waiters[i].result, -1);
        assert_int_equal(waiters[i].err.code, ERROR_GUEST_FAILED);
    }
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    assert_int_equal(perform(display, "{\"op\":\"move\",\"x\":1,\"y\":1}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    display_close(display);
    fake_stop(fake);
}

static void a_bad_server_cannot_be_opened(void **state)
{
    (void)state;
    const enum fake_fault faults[] = {FAKE_GARBAGE, FAKE_SILENT, FAKE_HUGE, FAKE_NO_EXTENSION};
    for (int i = 0; i < 4; i++) {
        struct fake *fake = fake_start(WIDTH, HEIGHT, faults[i]);
        struct error err = ERROR_INIT;
        int64_t began = clock_monotonic_ms();
        assert_null(display_open(fake->client_fd, NULL, NULL, 400, &err));
        assert_int_equal(err.code, ERROR_GUEST_FAILED);
        assert_true(clock_monotonic_ms() - began < 3000);
        fake_stop(fake);
    }
}

static void shutdown_wakes_and_refuses(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    display_frame_release(capture_good(display));
    FAKE_SET(fake, mute, true);
    clock_sleep_ms(80);
    pthread_t thread;
    struct waiter waiter = {.display = display};
    pthread_create(&thread, NULL, wait_for_frame, &waiter);
    clock_sleep_ms(80);
    display_shutdown(display);
    pthread_join(thread, NULL);
    assert_int_equal(waiter.err.code, ERROR_NOT_FOUND);
    struct error err = ERROR_INIT;
    assert_null(display_capture(display, clock_deadline(1000), &err));
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    display_close(display);
    fake_stop(fake);
}

/* What a guest with a US layout would have in its text field. Only letters, digits and signs. */
static size_t read_typed(struct fake *fake, char *text, size_t size)
{
    size_t length = 0;
    bool shift = false;
    for (size_t i = 0; i < fake->event_count; i++) {
        struct fake_event event = fake->events[i];
        if (event.kind != 'k')
            continue;
        if (event.code == KEY_LEFTSHIFT)
            shift = event.down;
        else if (event.down)
            for (uint32_t c = 1; c < 128 && length < size; c++) {
                struct action_chord chord;
                if (keys_from_character(c, &chord) && chord.key == event.code &&
                    (chord.modifiers == MODIFIER_SHIFT) == shift)
                    text[length++] = (char)c;
            }
    }
    return length;
}

static void types_every_character(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    char text[98], got[200];
    for (int i = 0; i < 95; i++)
        text[i] = (char)(' ' + i);
    memcpy(text + 95, "\n\t", 3);
    json_t *document = json_pack("{s:s, s:s}", "op", "type", "text", text);
    char *line = json_dumps(document, 0);
    int64_t began = clock_monotonic_ms();
    perform_good(display, line);
    int64_t took = clock_monotonic_ms() - began;
    size_t length = read_typed(fake, got, sizeof got);
    assert_int_equal(length, 97);
    assert_memory_equal(got, text, 97);
    /* Done only when QEMU's queue, ten milliseconds an event, is empty; and never far ahead of it. */
    assert_true(took >= (int64_t)fake->event_count * 10);
    for (size_t i = 100; i < fake->event_count; i++)
        assert_true(fake->events[i].time_us - fake->events[i - 100].time_us > 400000);
    assert_released(fake);
    free(line);
    json_decref(document);
    display_close(display);
    fake_stop(fake);
}

static void clicks_move_first(void **state)
{
    (void)state;
    struct fake *fake = fake_start(1280, 800, FAKE_FINE);
    struct display *display = open_good(fake);
    const int corners[][2] = {{0, 0}, {1279, 0}, {0, 799}, {1279, 799}};
    for (int i = 0; i < 4; i++) {
        char line[80];
        snprintf(line, sizeof line, "{\"op\":\"click\",\"x\":%d,\"y\":%d}", corners[i][0], corners[i][1]);
        size_t before = events_of(fake);
        perform_good(display, line);
        assert_int_equal(events_of(fake), before + 3);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(fake->events[before + k].x, corners[i][0]);
            assert_int_equal(fake->events[before + k].y, corners[i][1]);
            assert_int_equal(fake->events[before + k].mask, k == 1);
        }
    }
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    size_t before = events_of(fake);
    assert_int_equal(perform(display, "{\"op\":\"click\",\"x\":1280,\"y\":0}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(perform(display, "{\"op\":\"drag\",\"path\":[[0,0],[0,800]]}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    assert_int_equal(events_of(fake), before);
    assert_int_equal(outcome.pointer_x, 1279);
    display_close(display);
    fake_stop(fake);
}

/* The pixel that a guest computes from QEMU's 15 bits, rounded, is the one that was asked for. */
static void every_column_is_reached(void **state)
{
    (void)state;
    struct fake *fake = fake_start(1366, 64, FAKE_FINE);
    struct display *display = open_good(fake);
    struct action *moves = calloc(1366, sizeof *moves);
    for (int x = 0; x < 1366; x++)
        moves[x] = (struct action){.kind = ACTION_MOVE, .op = "move", .has_point = true, .point = {x, 1}};
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    assert_int_equal(display_perform(display, &(struct display_request){moves, 1366, 0, 0}, NULL,
                                     clock_deadline(60000), &outcome, &err),
                     0);
    assert_int_equal(outcome.done, 1366);
    assert_int_equal(fake->event_count, 1366);
    for (int x = 0; x < 1366; x++) {
        int bits = fake->events[x].x * 32767 / 1376;
        assert_int_equal((int)((double)bits * 1366 / 32768 + 0.5), x);
    }
    free(moves);
    display_close(display);
    fake_stop(fake);
}

static void nothing_stays_down(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct error err = ERROR_INIT;
    struct display_outcome outcome;

    /* A hold whose time is cut off by a deadline. */
    const struct action hold = {.kind = ACTION_HOLD_KEY,
                                .op = "hold_key",
                                .keys = &(struct action_chord){.modifiers = MODIFIER_CTRL, .key = KEY_A},
                                .key_count = 1,
                                .duration_ms = 60000};
    assert_int_equal(display_perform(display, &(struct display_request){&hold, 1, 0, 0}, NULL,
                                     clock_deadline(200), &outcome, &err),
                     -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    assert_int_equal(outcome.done, 0);
    perform_good(display, "{\"op\":\"move\",\"x\":1,\"y\":1}"); /* the releases have arrived before this */
    assert_released(fake);

    /* A failure releases the button of an earlier action too. */
    perform_good(display, "{\"op\":\"mouse_down\",\"x\":5,\"y\":6}");
    assert_int_equal(fake->events[events_of(fake) - 1].mask, 1);
    assert_int_equal(perform(display, "{\"op\":\"move\",\"x\":5000,\"y\":6}", &outcome, &err), -1);
    perform_good(display, "{\"op\":\"move\",\"x\":7,\"y\":6}");
    assert_released(fake);

    /* The end of the session, in the middle of a hold and with a button down. */
    perform_good(display, "{\"op\":\"mouse_down\",\"button\":\"right\"}");
    pthread_t thread;
    struct waiter waiter = {.display = display,
                            .action =
                                "{\"op\":\"hold_key\",\"keys\":[\"shift\",\"b\"],\"duration_ms\":60000}"};
    pthread_create(&thread, NULL, wait_for_frame, &waiter);
    clock_sleep_ms(150);
    display_shutdown(display);
    pthread_join(thread, NULL);
    assert_int_equal(waiter.err.code, ERROR_NOT_FOUND);
    display_close(display);
    assert_released(fake);
    fake_stop(fake);
}

static void a_close_releases_buttons(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    perform_good(display, "{\"op\":\"mouse_down\",\"x\":5,\"y\":6,\"button\":\"middle\"}");
    display_close(display);
    assert_int_equal(fake->events[fake->event_count - 1].mask, 0);
    assert_int_equal(fake->events[fake->event_count - 1].x, 5);
    fake_stop(fake);
}

/* Two callers: their actions do not mix, and looking goes on meanwhile. */
static void actions_take_turns(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct waiter waiters[3] = {
        {.display = display, .action = "{\"op\":\"type\",\"text\":\"aaaaaaaaaaaaaaaaaaaa\"}"},
        {.display = display, .action = "{\"op\":\"type\",\"text\":\"bbbbbbbbbbbbbbbbbbbb\"}"},
        {.display = display, .action = "{\"op\":\"click\",\"x\":3,\"y\":4}"}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, wait_for_frame, &waiters[i]);
        clock_sleep_ms(20);
    }
    FAKE_SET(fake, seed, 9);
    clock_sleep_ms(70);
    struct display_frame *frame = capture_good(display);
    assert_shows(frame, 9, WIDTH, HEIGHT);
    display_frame_release(frame);
    assert_true(events_of(fake) < 80); /* they were still at it */
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(waiters[i].result, 0);
    }
    char text[100];
    assert_int_equal(read_typed(fake, text, sizeof text), 40);
    assert_memory_equal(text, "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb", 40);
    assert_int_equal(fake->event_count, 83);
    for (size_t i = 0; i < 83; i++)
        assert_int_equal(fake->events[i].kind, i < 80 ? 'k' : 'p');
    display_close(display);
    fake_stop(fake);
}

static void waits_for_change_and_stillness(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    assert_int_equal(
        perform(display, "{\"op\":\"wait\",\"until\":\"change\",\"timeout_ms\":250}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    pthread_t thread;
    struct waiter waiter = {
        .display = display,
        .action = "{\"op\":\"wait\",\"until\":\"change\",\"region\":[10,10,5,5],\"timeout_ms\":20000}"};
    pthread_create(&thread, NULL, wait_for_frame, &waiter);
    clock_sleep_ms(200);
    FAKE_SET(fake, seed, 2);
    pthread_join(thread, NULL);
    assert_int_equal(waiter.result, 0);
    int64_t began = clock_monotonic_ms();
    perform_good(display, "{\"op\":\"wait\",\"until\":\"still\"}");
    assert_in_range(clock_monotonic_ms() - began, ACTION_STILL_MS, 5000);
    display_close(display);
    fake_stop(fake);
}

static void waits_until_drawn(void **state)
{
    (void)state;
    struct fake *fake = fake_start(64, 48, FAKE_FINE);
    struct display *display = open_good(fake);
    struct error err = ERROR_INIT;
    assert_null(display_wait_drawn(display, WIDTH, HEIGHT, clock_deadline(300), &err));
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    pthread_mutex_lock(&fake->mutex);
    fake->width = WIDTH;
    fake->height = HEIGHT;
    fake->resize = true;
    pthread_mutex_unlock(&fake->mutex);
    fake_wake(fake);
    struct display_frame *frame = display_wait_drawn(display, WIDTH, HEIGHT, clock_deadline(5000), &err);
    assert_non_null(frame);
    assert_shows(frame, 1, WIDTH, HEIGHT);
    display_frame_release(frame);
    display_close(display);
    fake_stop(fake);
}

/* A descriptor past what select() can hold is moved; nothing is sent while nobody asks. */
static void high_descriptors_and_silence(void **state)
{
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    int high = fcntl(fake->client_fd, F_DUPFD_CLOEXEC, 2000);
    if (high >= 2000) {
        close(fake->client_fd);
        fake->client_fd = high;
    }
    struct display *display = open_good(fake);
    assert_true(fcntl(high, F_GETFD) < 0);
    display_frame_release(capture_good(display));
    clock_sleep_ms(100);
    pthread_mutex_lock(&fake->mutex);
    size_t before = fake->messages;
    pthread_mutex_unlock(&fake->mutex);
    clock_sleep_ms(500);
    pthread_mutex_lock(&fake->mutex);
    assert_int_equal(fake->messages, before);
    pthread_mutex_unlock(&fake->mutex);
    display_close(display);
    fake_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_is_drawn),
        cmocka_unit_test(shares_a_frame_that_did_not_change),
        cmocka_unit_test(follows_sizes_without_a_torn_frame),
        cmocka_unit_test(a_silent_server_is_an_error_in_time),
        cmocka_unit_test(a_cut_frame_wakes_all),
        cmocka_unit_test(a_bad_server_cannot_be_opened),
        cmocka_unit_test(shutdown_wakes_and_refuses),
        cmocka_unit_test(types_every_character),
        cmocka_unit_test(clicks_move_first),
        cmocka_unit_test(every_column_is_reached),
        cmocka_unit_test(nothing_stays_down),
        cmocka_unit_test(a_close_releases_buttons),
        cmocka_unit_test(actions_take_turns),
        cmocka_unit_test(waits_for_change_and_stillness),
        cmocka_unit_test(waits_until_drawn),
        cmocka_unit_test(high_descriptors_and_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
