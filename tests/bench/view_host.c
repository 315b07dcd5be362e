/*
 * The guest view without a guest, for tests/bench/view.py: its display is a VNC server on a unix socket, so
 * that the pump can be measured beside another one in front of the same server. Usage: bench_view_host HOME
 * SOCKET. Prints "PORT TOKEN" and serves until its input ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "pairing/pairing.h"
#include "view/view.h"

static int open_display(void *context, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", (const char *)context);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return error_set_errno(err, ERROR_GUEST_FAILED, errno, "cannot connect to %s", address.sun_path);
    return TAKE_FD(fd);
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    char code[PAIRING_CODE_SIZE], line[16];
    struct pairing_paired paired;
    if (argc != 3)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    CLEANUP(cleanup_holds) struct holds *holds = holds_new();
    CLEANUP(cleanup_pairing) struct pairing *pairing = pairing_open(argv[1], &err);
    if (!pairing)
        goto failed;
    pairing_code(pairing, code);
    if (pairing_pair(pairing, &(struct peer){0}, code, CAPABILITY_OPERATOR, &paired, &err) < 0)
        goto failed;
    struct view *view = view_open(&(struct view_options){.lease_id = "l_00000000000000000000000000000000",
                                                         .owner = "",
                                                         .expires_boot_ms = CLOCK_NEVER,
                                                         .assets = argv[1],
                                                         .pairing = pairing,
                                                         .holds = holds,
                                                         .open_display = open_display,
                                                         .context = argv[2]},
                                  &err);
    if (!view)
        goto failed;
    printf("%u %s\n", view_port(view), paired.token);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        continue;
    view_end(view, VIEW_NODE_STOPPING);
    view_free(view);
    return 0;

failed:
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
