/* base/process.h: another program to its end, bounded in time and output. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"

static int shell(const char *script, int64_t timeout_ms, char **output, struct error *err)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    return process_run(argv, timeout_ms, output, err);
}

static void holds_both_outputs(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *output = NULL;
    assert_int_equal(shell("echo out; echo err >&2", 10000, &output, &err), 0);
    assert_string_equal(output, "out\nerr\n");
    assert_int_equal(err.code, ERROR_NONE);
}

static void failure_brings_the_last_line(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char *output = NULL;
    assert_int_equal(shell("echo first; echo 'the reason'; exit 3", 10000, &output, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    assert_non_null(strstr(err.text, "exit 3"));
    assert_non_null(strstr(err.text, "the reason"));
    assert_null(strstr(err.text, "first"));
    assert_null(output);
    assert_int_equal(shell("kill -9 $$", 10000, NULL, &err), -1);
    assert_non_null(strstr(err.text, "signal 9"));
}

static void no_such_program(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    const char *const argv[] = {"berthos-no-such-program", NULL};
    assert_int_equal(process_run(argv, 1000, NULL, &err), -1);
    assert_non_null(strstr(err.text, "berthos-no-such-program"));
    assert_non_null(strstr(err.text, "No such file"));
}

/* Neither input, nor environment, nor descriptors of ours reach the program. */
static void inherits_nothing(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *output = NULL;
    int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    setenv("BERTHOS_SECRET", "1", 1);
    assert_int_equal(
        shell("cat; echo \"[$BERTHOS_SECRET$HOME]\"; ls /proc/self/fd | wc -l", 10000, &output, &err), 0);
    close(fd);
    assert_string_equal(output, "[]\n4\n"); /* 0, 1, 2 and the folder that ls reads */
}

static void output_is_bounded(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *output = NULL;
    assert_int_equal(shell("head -c 1000000 /dev/zero | tr '\\0' x", 20000, &output, &err), 0);
    assert_int_equal(strlen(output), 64 * 1024);
}

static void assert_late(const char *script)
{
    struct error err = ERROR_INIT;
    int64_t start = clock_monotonic_ms();
    assert_int_equal(shell(script, 300, NULL, &err), -1);
    int64_t took = clock_monotonic_ms() - start;
    assert_int_equal(err.code, ERROR_TIMEOUT);
    if (took < 300 || took > 5000)
        fail_msg("%s: ended after %lld ms", script, (long long)took);
}

static void is_killed_at_the_deadline(void **state)
{
    (void)state;
    assert_late("exec sleep 60");
    assert_late("yes");
}

/* A closed stdout is not the end of the program: the deadline still holds. */
static void is_killed_also_when_silent(void **state)
{
    (void)state;
    assert_late("exec sleep 60 >/dev/null 2>&1");
}

/* What the program started goes with it. */
static void takes_its_children_along(void **state)
{
    (void)state;
    char *path = unit_text("/tmp/berthos-unit-process.XXXXXX");
    CLEANUP_CLOSE int fd = mkstemp(path);
    assert_true(fd >= 0);
    at_end(unit_remove, path);
    CLEANUP_FREE char *script = text_format("sleep 60 & echo $! > %s; wait", path);
    assert_late(script);
    char digits[16] = "";
    assert_true(read(fd, digits, sizeof digits - 1) > 0);
    pid_t child = atoi(digits);
    assert_true(child > 1);
    CLEANUP_FREE char *proc = text_format("/proc/%d/stat", child);
    bool running = true;
    for (int i = 0; i < 100 && running; i++) {
        char stat[256] = "";
        int stat_fd = open(proc, O_RDONLY);
        running = stat_fd >= 0 && read(stat_fd, stat, sizeof stat - 1) > 0 && !strstr(stat, ") Z");
        if (stat_fd >= 0)
            close(stat_fd);
        if (running)
            clock_sleep_ms(20);
    }
    if (running)
        kill(child, SIGKILL);
    assert_false(running);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_both_outputs),
        cmocka_unit_test(failure_brings_the_last_line),
        cmocka_unit_test(no_such_program),
        cmocka_unit_test(inherits_nothing),
        cmocka_unit_test(output_is_bounded),
        cmocka_unit_test(is_killed_at_the_deadline),
        cmocka_unit_test(is_killed_also_when_silent),
        UNIT_TEST(takes_its_children_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
