/*
 * PID 1 of the test guest: mounts, loads modules, paints the first pattern, and only then starts the guest
 * agent: "the agent is connected" means that the display is up. After that one loop serves commands, timers,
 * the pointer mark and dead children; input has a thread of its own (input.h).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boot.h"
#include "commands.h"
#include "guest.h"

/* An agent that died comes back after this long. */
enum { AGENT_RESTART_MS = 500 };

static int open_control(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GUEST_CONTROL};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0)
        return -1;
    return fd;
}

/* One connection, one line, one answer. A client that sends nothing is dropped after a second. */
static void serve(struct guest *guest, int control_fd)
{
    struct timeval patience = {.tv_sec = 1};
    char line[GUEST_LINE_MAX];
    size_t length = 0;
    int fd = accept4(control_fd, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    while (length < sizeof(line) - 1) {
        ssize_t got = read(fd, line + length, sizeof(line) - 1 - length);

        if (got <= 0)
            break;
        length += (size_t)got;
        if (memchr(line, '\n', length)) {
            line[length] = '\0';
            commands_run(guest, fd, line);
            return;
        }
    }
    close(fd);
}

static void reap(int signal_fd, pid_t *agent)
{
    struct signalfd_siginfo info;
    pid_t dead;

    if (read(signal_fd, &info, sizeof(info)) < 0)
        return;
    while ((dead = waitpid(-1, NULL, WNOHANG)) > 0) {
        if (dead == *agent) {
            guest_say("the agent ended and is started again");
            *agent = boot_agent(AGENT_RESTART_MS);
        }
    }
}

static void follow_pointer(struct guest *guest)
{
    struct input_state state;
    eventfd_t moves;

    eventfd_read(guest->input.moved_fd, &moves);
    if (!guest->screen.marking)
        return;
    state = input_state(&guest->input);
    if (screen_mark(&guest->screen, &state.pointer) < 0)
        guest_say("the mark cannot be drawn: %s", strerror(errno));
}

static void loop(struct guest *guest, int control_fd, int signal_fd, pid_t agent)
{
    struct pollfd sources[] = {
        {.fd = control_fd, .events = POLLIN},
        {.fd = signal_fd, .events = POLLIN},
        {.fd = guest->flip.timer_fd, .events = POLLIN},
        {.fd = guest->end_timer_fd, .events = POLLIN},
        {.fd = guest->input.moved_fd, .events = POLLIN},
    };

    for (;;) {
        if (poll(sources, sizeof(sources) / sizeof(sources[0]), -1) < 0)
            continue;
        if (sources[0].revents)
            serve(guest, control_fd);
        if (sources[1].revents)
            reap(signal_fd, &agent);
        if (sources[2].revents)
            commands_flip_due(guest);
        if (sources[3].revents)
            boot_end(guest->end);
        if (sources[4].revents)
            follow_pointer(guest);
    }
}

static void show_first(struct screen *screen, const struct boot_wishes *wishes)
{
    struct display *display = &screen->display;

    screen->paint = (struct paint){PAINT_PATTERN, (uint32_t)wishes->seed};
    if (display_open(display) < 0)
        guest_say("there is no display: %s", strerror(errno));
    else if (screen_resize(screen, display->width, display->height, !wishes->paint) < 0)
        guest_say("the display cannot be shown: %s", strerror(errno));
    else
        guest_say("the display is up, %ux%u", display->width, display->height);
}

int init_main(void)
{
    static struct guest guest; /* a megabyte of text field: not for the stack */
    struct boot_wishes wishes;
    pid_t agent = -1;
    sigset_t children;
    int control_fd, signal_fd;

    if (boot_mounts() < 0)
        guest_say("the file systems cannot be mounted: %s", strerror(errno));
    wishes = boot_wishes();
    boot_modules("/etc/modules-display");
    show_first(&guest.screen, &wishes);
    boot_modules("/etc/modules-other");

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (input_start(&guest.input) < 0)
        guest_say("input cannot be read: %s", strerror(errno));
    control_fd = open_control();
    if (commands_start(&guest) < 0 || control_fd < 0)
        guest_say("commands cannot be taken: %s", strerror(errno));

    if (wishes.panic)
        boot_end(BOOT_PANIC);
    if (wishes.poweroff)
        boot_end(BOOT_POWEROFF);
    if (wishes.agent_delay_ms >= 0)
        agent = boot_agent(wishes.agent_delay_ms);
    loop(&guest, control_fd, signal_fd, agent);
    return 0;
}
