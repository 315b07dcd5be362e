/* The display session against a server that behaves as QEMU's. CASES.md 9, 11. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

#include "display_fixture.h"

static void shows_what_is_drawn(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    uint64_t last = 0;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        FAKE_SET(fake, seed, seed);
        clock_sleep_ms(65); /* past the slack: a frame of before would be too old */
        struct frame *frame = capture_good(display);
        assert_shows(frame, seed, WIDTH, HEIGHT);
        assert_true(frame->sequence > last);
        assert_false(frame_is_blank(frame));
        last = frame->sequence;
        frame_release(frame);
    }
    display_close(display);
    fake_stop(fake);
}

static void shares_a_frame_that_did_not_change(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct frame *first = capture_good(display);
    clock_sleep_ms(80);
    struct frame *second = capture_good(display);
    assert_ptr_equal(first, second);
    FAKE_SET(fake, seed, 2);
    clock_sleep_ms(80);
    struct frame *third = capture_good(display);
    assert_ptr_not_equal(first, third);
    assert_shows(first, 1, WIDTH, HEIGHT); /* a frame that is held never changes */
    display_close(display);
    assert_shows(third, 2, WIDTH, HEIGHT);
    frame_release(first);
    frame_release(second);
    frame_release(third);
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
        struct frame *frame = capture_good(display);
        assert_shows(frame, 100 + i, sizes[i][0], sizes[i][1]);
        frame_release(frame);
    }
    display_close(display);
    fake_stop(fake);
}

static void a_silent_server_is_an_error_in_time(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    frame_release(capture_good(display));
    FAKE_SET(fake, mute, true);
    clock_sleep_ms(80);
    struct error err = ERROR_INIT;
    int64_t began = clock_monotonic_ms();
    assert_null(display_capture(display, clock_deadline(200), &err));
    assert_in_range(clock_monotonic_ms() - began, 150, 2000);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
    FAKE_SET(fake, mute, false); /* a moment of silence does not end the session */
    frame_release(capture_good(display));

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

/* The server dies in the middle of a frame: everybody who waits is told. */
static void a_cut_frame_wakes_all(void **state)
{
    (void)state;
    struct fake *fake = fake_start(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    frame_release(capture_good(display));
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
    frame_release(capture_good(display));
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
    struct frame *frame = display_wait_drawn(display, WIDTH, HEIGHT, clock_deadline(5000), &err);
    assert_non_null(frame);
    assert_shows(frame, 1, WIDTH, HEIGHT);
    frame_release(frame);
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
    frame_release(capture_good(display));
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
        cmocka_unit_test(waits_for_change_and_stillness),
        cmocka_unit_test(waits_until_drawn),
        cmocka_unit_test(high_descriptors_and_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
