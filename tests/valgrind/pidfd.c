/*
 * valgrind 3.19 does not know pidfd_open(2), by which the node waits for the programs that it runs. Loaded
 * before the C library (LD_PRELOAD), this gives a descriptor that gets readable when the process has ended,
 * as the kernel's does.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct watch {
    pid_t pid;
    int fd; /* the watcher's own */
};

static void *watch(void *argument)
{
    struct watch *watched = argument;
    siginfo_t ended;
    waitid(P_PID, (id_t)watched->pid, &ended, WEXITED | WNOWAIT);
    eventfd_write(watched->fd, 1);
    close(watched->fd);
    free(watched);
    return NULL;
}

int pidfd_open(pid_t pid, unsigned flags)
{
    (void)flags;
    pthread_t thread;
    int fd = eventfd(0, EFD_CLOEXEC);
    struct watch *watched = malloc(sizeof *watched);
    if (fd < 0 || !watched)
        abort();
    *watched = (struct watch){pid, dup(fd)};
    if (pthread_create(&thread, NULL, watch, watched) != 0)
        abort();
    pthread_detach(thread);
    return fd;
}
