/*
 * /usr/lib/berthos/hands: the node's way to the helper, run by the guest agent as root. Its arguments are in
 * docs/IMAGE.md.
 *
 * The verb renew is another program, for a guest that was restored from a saved state (renew.c), and stays
 * root. Else it becomes `agent` before anything else: whatever the tenant puts in the socket's place is then
 * reached with the tenant's own rights. It checks nothing and decides nothing; the daemon does. Static,
 * because under emulation the dynamic linker is most of a small program's time.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire.h"

#define RENEW "/usr/lib/berthos/renew"

enum { AGENT_ID = 1000, CONNECT_SECONDS = 20, PATIENCE_MS = 600000 };

static _Noreturn void give_up(const char *phrase)
{
    printf("{\"ok\":false,\"typed\":0,\"error\":\"%s\"}\n", phrase);
    exit(1);
}

static void become_agent(void)
{
    cpu_set_t all;
    /* The guest agent is bound to the CPU of the interrupts (berthos-agent.service). */
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all);
    if (setgroups(0, NULL) != 0 || setresgid(AGENT_ID, AGENT_ID, AGENT_ID) != 0 ||
        setresuid(AGENT_ID, AGENT_ID, AGENT_ID) != 0)
        give_up("the input helper cannot leave root");
}

static int connect_to_daemon(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = HELPER_SOCKET};
    struct timeval patience = {.tv_sec = CONNECT_SECONDS};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        give_up("the input helper has no socket");
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        give_up("the desktop's input helper is not running");
    return fd;
}

/* False when the daemon reads no more: it may have answered already. */
static bool send_all(int fd, const char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = send(fd, bytes + done, size - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The daemon's answer, at most HELPER_ANSWER_MAX bytes, to stdout. Whether it says that all went well. */
static int pass_answer(int fd, bool sent)
{
    char answer[HELPER_ANSWER_MAX];
    size_t length = 0;
    struct pollfd source = {.fd = fd, .events = POLLIN};
    while (length < sizeof answer && poll(&source, 1, PATIENCE_MS) > 0) {
        ssize_t n = read(fd, answer + length, sizeof answer - length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    if (length == 0)
        give_up(sent ? "the desktop's input helper ended" : "the desktop's input helper does not read");
    fwrite(answer, 1, length, stdout);
    return length >= 11 && memcmp(answer, "{\"ok\":true}", 11) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static char text[HELPER_TEXT_MAX_BYTES + 1];
    char line[HELPER_LINE_MAX] = "";
    size_t size = 0, length = 0;
    if (argc < 2) {
        fprintf(stderr,
                "usage: hands type | click X Y back|forward COUNT | scroll X Y DX | release | renew\n");
        return 2;
    }
    if (strcmp(argv[1], "renew") == 0) { /* nothing of the daemon's, and it needs to be root */
        execl(RENEW, RENEW, (char *)NULL);
        give_up("the guest has no program to renew it");
    }
    become_agent();
    for (int i = 1; i < argc && length < sizeof line; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, "%s%s", i > 1 ? " " : "", argv[i]);
    if (strcmp(argv[1], "type") == 0) {
        size = fread(text, 1, sizeof text, stdin);
        length = (size_t)snprintf(line, sizeof line, "type %zu", size);
    }
    if (length + 1 >= sizeof line || strchr(line, '\n'))
        give_up("the command is too long");
    line[length++] = '\n';
    int fd = connect_to_daemon();
    bool sent = send_all(fd, line, length) && send_all(fd, text, size);
    return pass_answer(fd, sent);
}
