/* base/clock.h: deadlines and the one text form of a time. */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "base/clock.h"

static void formats_utc_with_milliseconds(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951782400123, "2000-02-29T00:00:00.123Z"},
        {1769903999123, "2026-01-31T23:59:59.123Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[CLOCK_TEXT_SIZE];
        int64_t back = 42;
        clock_format(cases[i].ms, text);
        assert_string_equal(text, cases[i].text);
        assert_true(clock_parse(text, &back));
        assert_int_equal(back, cases[i].ms);
    }
}

static void refuses_what_it_would_not_write(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "2026-01-31T23:59:59Z",
        "2026-01-31T23:59:59.123",
        "2026-01-31T23:59:59.123z",
        "2026-01-31 23:59:59.123Z",
        "2026-02-29T00:00:00.000Z",
        "2026-13-01T00:00:00.000Z",
        "2026-00-01T00:00:00.000Z",
        "2026-01-00T00:00:00.000Z",
        "2026-01-31T24:00:00.000Z",
        "2026-01-31T23:60:00.000Z",
        "2026-01-31T23:59:60.000Z",
        "+026-01-31T23:59:59.123Z",
        "2026-01-31T23:59:59.1230Z",
        "2026-01-31T23:59:59.123+00:00",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t value = 42;
        if (clock_parse(texts[i], &value))
            fail_msg("\"%s\" was accepted", texts[i]);
        assert_int_equal(value, 42);
    }
}

static void deadlines_do_not_overflow(void **state)
{
    (void)state;
    assert_true(clock_deadline(-1) == CLOCK_NEVER);
    assert_true(clock_deadline(INT64_MAX) == CLOCK_NEVER);
    assert_int_equal(clock_left_ms(CLOCK_NEVER), INT32_MAX);
    assert_int_equal(clock_left_ms(INT64_MIN), 0);
    assert_int_equal(clock_left_ms(clock_monotonic_ms() - 1), 0);
    assert_int_equal(clock_left_ms(clock_monotonic_ms() + (int64_t)INT32_MAX * 4), INT32_MAX);
    int left = clock_left_ms(clock_deadline(60000));
    assert_in_range(left, 1, 60000);
}

static void ignore_alarm(int signal)
{
    (void)signal;
}

/* A signal every 2 ms must not shorten the sleep. */
static void sleeps_whole_through_signals(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = ignore_alarm};
    struct itimerval often = {.it_interval = {.tv_usec = 2000}, .it_value = {.tv_usec = 2000}}, never = {0};
    sigaction(SIGALRM, &action, NULL);
    int64_t start = clock_monotonic_us();
    setitimer(ITIMER_REAL, &often, NULL);
    clock_sleep_ms(50);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_true(clock_monotonic_us() - start >= 50000);
}

static void clocks_agree_on_their_units(void **state)
{
    (void)state;
    int64_t us = clock_monotonic_us(), ms = clock_monotonic_ms();
    assert_in_range(ms - us / 1000, 0, 1000);
    assert_true(clock_boottime_ms() >= ms); /* it also counts suspend */
    assert_in_range(clock_realtime_ms() / 1000 - (int64_t)time(NULL) + 2, 0, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_utc_with_milliseconds), cmocka_unit_test(refuses_what_it_would_not_write),
        cmocka_unit_test(deadlines_do_not_overflow),     cmocka_unit_test(sleeps_whole_through_signals),
        cmocka_unit_test(clocks_agree_on_their_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
