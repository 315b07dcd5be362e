#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

enum { OUTPUT_MAX = 64 * 1024 };

static int spawn_program(const char *const argv[], int output_fd, pid_t *pid)
{
    static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    static char locale[] = "LC_ALL=C";
    char *const environment[] = {path, locale, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    sigdelset(&defaults, SIGKILL);
    sigdelset(&defaults, SIGSTOP);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    /* A group of its own, so that the deadline can end what the program started too. */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    int failed = posix_spawnp(pid, argv[0], &actions, &attributes, (char *const *)argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Reads until the other end is closed or the deadline. False when the deadline came first. */
static bool drain_output(int fd, int64_t deadline_ms, char *buffer, size_t *used)
{
    char excess[4096];
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int left = clock_left_ms(deadline_ms);
        if (left == 0)
            return false;
        if (poll(&ready, 1, left) <= 0)
            continue;
        bool full = *used >= OUTPUT_MAX;
        ssize_t got = read(fd, full ? excess : buffer + *used, full ? sizeof excess : OUTPUT_MAX - *used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return true;
        if (!full)
            *used += (size_t)got;
    }
}

/* Waits until the program has ended, without reaping it, or the deadline. False when the deadline came first.
 */
static bool wait_ended(pid_t pid, int64_t deadline_ms)
{
    CLEANUP_CLOSE int pidfd = pidfd_open(pid, 0);
    struct pollfd ready = {.fd = pidfd, .events = POLLIN};
    int left;
    while (pidfd >= 0 && (left = clock_left_ms(deadline_ms)) > 0)
        if (poll(&ready, 1, left) > 0)
            return true;
    return false;
}

static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = '\0';
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

int process_run(const char *const argv[], int64_t timeout_ms, char **output, struct error *err)
{
    int pipes[2];
    CLEANUP_FREE char *buffer = malloc(OUTPUT_MAX + 1);
    if (!buffer || pipe2(pipes, O_CLOEXEC) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot run %s", argv[0]);
    CLEANUP_CLOSE int readable = pipes[0];
    CLEANUP_CLOSE int writable = pipes[1];
    pid_t pid;
    int failed = spawn_program(argv, writable, &pid);
    if (failed)
        return error_set_errno(err, ERROR_INTERNAL, failed, "cannot run %s", argv[0]);
    close(TAKE_FD(writable));

    size_t used = 0;
    /* A closed output is not the end of the program: the same deadline holds for its exit. */
    int64_t deadline_ms = clock_deadline(timeout_ms);
    bool ended = drain_output(readable, deadline_ms, buffer, &used) && wait_ended(pid, deadline_ms);
    if (!ended)
        kill(-pid, SIGKILL);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    buffer[used] = '\0';
    if (!ended)
        return error_set(err, ERROR_TIMEOUT, "%s did not end within %lld ms and was killed", argv[0],
                         (long long)timeout_ms);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, ERROR_INTERNAL, "%s failed (%s %d): %s", argv[0],
                         WIFEXITED(status) ? "exit" : "signal",
                         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), last_line(buffer));
    if (output)
        *output = TAKE(buffer);
    return 0;
}
