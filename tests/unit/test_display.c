/* The display session against a server that behaves as QEMU's. CASES.md 9, 11. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

#include "display_fixture.h"

static void shows_what_is_drawn(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
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
}

static void shares_a_frame_that_did_not_change(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
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
    end_now(display);
    assert_shows(third, 2, WIDTH, HEIGHT);
    frame_release(first);
    frame_release(second);
    frame_release(third);
}

static void follows_sizes_without_a_torn_frame(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    FAKE_SET(fake, halves, true);
    const int sizes[][2] = {{WIDTH, HEIGHT}, {320, 200}, {1366, 76}, {16, 16}, {33, 7}, {640, 480}};
    FAKE_SET(fake, seed, 100);
    for (uint32_t i = 1; i <= 5; i++) {
        pthread_mutex_lock(&fake->mutex);
        fake->width = sizes[i][0];
        fake->height = sizes[i][1];
        fake->seed = 100 + i;
        fake->resize = true;
        pthread_mutex_unlock(&fake->mutex);
        fake_wake(fake);
        clock_sleep_ms(40); /* in the middle of the two halves */
        struct frame *frame = capture_good(display);
        while (frame->width == (uint32_t)sizes[i - 1][0]) { /* a busy host tells the size late */
            assert_shows(frame, 99 + i, sizes[i - 1][0], sizes[i - 1][1]);
            frame_release(frame);
            clock_sleep_ms(20);
            frame = capture_good(display);
        }
        assert_shows(frame, 100 + i, sizes[i][0], sizes[i][1]);
        frame_release(frame);
    }
}

static void a_silent_server_is_an_error_in_time(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
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
}

/* The server dies in the middle of a frame: everybody who waits is told. */
static void a_cut_frame_wakes_all(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    frame_release(capture_good(display));
    FAKE_SET(fake, cut_short, true);
    FAKE_SET(fake, seed, 2);
    clock_sleep_ms(80);
    struct waiter *waiters[20];
    for (int i = 0; i < 20; i++)
        waiters[i] = start_waiter(display, NULL, false);
    for (int i = 0; i < 20; i++) {
        join_waiter(waiters[i]);
        assert_int_equal(waiters[i]->result, -1);
        assert_int_equal(waiters[i]->err.code, ERROR_GUEST_FAILED);
    }
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    assert_int_equal(perform(display, "{\"op\":\"move\",\"x\":1,\"y\":1}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_GUEST_FAILED);
}

static void a_bad_server_cannot_be_opened(void **state)
{
    (void)state;
    const enum fake_fault faults[] = {FAKE_GARBAGE, FAKE_SILENT, FAKE_HUGE, FAKE_NO_EXTENSION};
    for (int i = 0; i < 4; i++) {
        struct fake *fake = start_fake(WIDTH, HEIGHT, faults[i]);
        struct error err = ERROR_INIT;
        int64_t began = clock_monotonic_ms();
        assert_null(display_open(fake->client_fd, NULL, NULL, NULL, 400, &err));
        assert_int_equal(err.code, ERROR_GUEST_FAILED);
        assert_true(clock_monotonic_ms() - began < 3000);
    }
}

static void shutdown_wakes_and_refuses(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    frame_release(capture_good(display));
    FAKE_SET(fake, mute, true);
    clock_sleep_ms(80);
    struct waiter *waiter = start_waiter(display, NULL, false);
    clock_sleep_ms(80);
    display_shutdown(display);
    join_waiter(waiter);
    assert_int_equal(waiter->err.code, ERROR_NOT_FOUND);
    struct error err = ERROR_INIT;
    assert_null(display_capture(display, clock_deadline(1000), &err));
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void waits_for_change_and_stillness(void **state)
{
    (void)state;
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    struct display *display = open_good(fake);
    struct error err = ERROR_INIT;
    struct display_outcome outcome;
    assert_int_equal(
        perform(display, "{\"op\":\"wait\",\"until\":\"change\",\"timeout_ms\":250}", &outcome, &err), -1);
    assert_int_equal(err.code, ERROR_TIMEOUT);
    struct waiter *waiter = start_waiter(
        display, "{\"op\":\"wait\",\"until\":\"change\",\"region\":[10,10,5,5],\"timeout_ms\":20000}", false);
    clock_sleep_ms(200);
    FAKE_SET(fake, seed, 2);
    join_waiter(waiter);
    assert_int_equal(waiter->result, 0);
    int64_t began = clock_monotonic_ms();
    perform_good(display, "{\"op\":\"wait\",\"until\":\"still\"}");
    assert_in_range(clock_monotonic_ms() - began, ACTION_STILL_MS, 5000);
}

static void waits_until_drawn(void **state)
{
    (void)state;
    struct fake *fake = start_fake(64, 48, FAKE_FINE);
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
}

static size_t messages_of(struct fake *fake)
{
    LOCK_SCOPE(&fake->mutex);
    return fake->messages;
}

/* A descriptor past what select() can hold is moved; nothing is sent while nobody asks. */
static void high_descriptors_and_silence(void **state)
{
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    struct fake *fake = start_fake(WIDTH, HEIGHT, FAKE_FINE);
    int high = fcntl(fake->client_fd, F_DUPFD_CLOEXEC, 2000);
    if (high >= 2000) {
        close(fake->client_fd);
        fake->client_fd = high;
    }
    struct display *display = open_good(fake);
    assert_true(fcntl(high, F_GETFD) < 0);
    frame_release(capture_good(display));
    clock_sleep_ms(100);
    size_t before = messages_of(fake);
    clock_sleep_ms(500);
    assert_int_equal(messages_of(fake), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(shows_what_is_drawn),
        UNIT_TEST(shares_a_frame_that_did_not_change),
        UNIT_TEST(follows_sizes_without_a_torn_frame),
        UNIT_TEST(a_silent_server_is_an_error_in_time),
        UNIT_TEST(a_cut_frame_wakes_all),
        UNIT_TEST(a_bad_server_cannot_be_opened),
        UNIT_TEST(shutdown_wakes_and_refuses),
        UNIT_TEST(waits_for_change_and_stillness),
        UNIT_TEST(waits_until_drawn),
        UNIT_TEST(high_descriptors_and_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
