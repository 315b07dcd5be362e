#include "web/peer_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sync.h"

struct watched {
    int socket;
    struct cancel *cancel;
    struct watched *next;
};

/* Lock order: watch.mutex, then whatever the cancel's listener takes. */
struct peer_watch {
    int epoll_fd;
    int stop_fd; /* eventfd that ends the thread */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the list, and is held while a cancel fires */
    struct watched *list;
};

static void peer_closed(struct peer_watch *watch, int socket)
{
    LOCK_SCOPE(&watch->mutex);
    for (struct watched *entry = watch->list; entry; entry = entry->next)
        if (entry->socket == socket)
            cancel_fire(entry->cancel);
}

static void *wait_for_peers(void *argument)
{
    struct peer_watch *watch = argument;
    for (;;) {
        struct epoll_event event;
        int got = epoll_wait(watch->epoll_fd, &event, 1, -1);
        if (got < 0 && errno != EINTR)
            return NULL;
        if (got <= 0)
            continue;
        if (event.data.fd == watch->stop_fd)
            return NULL;
        peer_closed(watch, event.data.fd);
    }
}

struct peer_watch *peer_watch_start(struct error *err)
{
    struct peer_watch *watch = memory_new(sizeof *watch);
    pthread_mutex_init(&watch->mutex, NULL);
    watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch->stop_fd = eventfd(0, EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = watch->stop_fd};
    if (watch->epoll_fd >= 0 && watch->stop_fd >= 0 &&
        epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->stop_fd, &event) == 0 &&
        sync_thread_start(&watch->thread, "web-watch", wait_for_peers, watch, err) == 0)
        return watch;
    error_set_errno(err, ERROR_INTERNAL, errno, "cannot watch over the connections of an HTTP server");
    cleanup_close(&watch->epoll_fd);
    cleanup_close(&watch->stop_fd);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
    return NULL;
}

void peer_watch_stop(struct peer_watch *watch)
{
    eventfd_write(watch->stop_fd, 1);
    pthread_join(watch->thread, NULL);
    close(watch->epoll_fd);
    close(watch->stop_fd);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

void peer_watch_add(struct peer_watch *watch, int socket, struct cancel *cancel)
{
    struct watched *entry = memory_new(sizeof *entry);
    pthread_mutex_lock(&watch->mutex);
    *entry = (struct watched){socket, cancel, watch->list};
    watch->list = entry;
    pthread_mutex_unlock(&watch->mutex);
    /* Once: a closed peer stays closed, and the thread must not spin over it. */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.fd = socket};
    if (epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, socket, &event) < 0)
        log_debug("http", "a connection cannot be watched (errno %d)", errno);
}

void peer_watch_remove(struct peer_watch *watch, int socket)
{
    epoll_ctl(watch->epoll_fd, EPOLL_CTL_DEL, socket, NULL);
    LOCK_SCOPE(&watch->mutex);
    for (struct watched **link = &watch->list; *link; link = &(*link)->next) {
        if ((*link)->socket != socket)
            continue;
        struct watched *entry = *link;
        *link = entry->next;
        free(entry);
        return;
    }
}
