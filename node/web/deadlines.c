/*
 * Theory of operation: one thread sleeps in epoll. A socket that waits for its next request is in there once
 * (EPOLLONESHOT); its first byte starts the clock, and ends the interest until the request is answered. Each
 * request has a number of its own, so that an event which is seen late does not start another one's clock.
 * Without a request that is half here the thread has no time-out.
 */
#include "web/deadlines.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sync.h"

struct deadlines {
    int64_t length_ms;
    int epoll_fd;
    int stop_fd; /* eventfd that ends the thread */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all below */
    uint64_t turn;         /* the last that was given; 0 is the stop's */
    struct deadline *list; /* every connection */
};

static const char too_late[] =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
    "Content-Length: 75\r\n\r\n"
    "{\"error\": \"the request was not here whole in its time\", \"code\": \"timeout\"}\n";

/* With the mutex held. The time to the first deadline in ms, -1 without any; what is late is cut off. */
static int cut_late(struct deadlines *deadlines)
{
    int64_t now_ms = clock_monotonic_ms(), wait_ms = -1;
    for (struct deadline *entry = deadlines->list; entry; entry = entry->next) {
        if (entry->at_ms == 0)
            continue;
        int64_t left_ms = entry->at_ms - now_ms;
        if (left_ms > 0) {
            wait_ms = wait_ms < 0 || left_ms < wait_ms ? left_ms : wait_ms;
            continue;
        }
        entry->at_ms = 0;
        entry->turn = 0;
        log_debug("http", "a request was not here whole after %lld ms", (long long)deadlines->length_ms);
        send(entry->socket, too_late, sizeof too_late - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        shutdown(entry->socket, SHUT_RDWR);
    }
    return (int)wait_ms;
}

/* With the mutex held. */
static void start_clock(struct deadlines *deadlines, uint64_t turn)
{
    for (struct deadline *entry = deadlines->list; entry; entry = entry->next)
        if (entry->turn == turn)
            entry->at_ms = clock_deadline(deadlines->length_ms);
}

static void *wait_for_bytes(void *argument)
{
    struct deadlines *deadlines = argument;
    for (;;) {
        struct epoll_event event;
        pthread_mutex_lock(&deadlines->mutex);
        int wait_ms = cut_late(deadlines);
        pthread_mutex_unlock(&deadlines->mutex);
        int got = epoll_wait(deadlines->epoll_fd, &event, 1, wait_ms);
        if (got < 0 && errno != EINTR)
            return NULL;
        if (got <= 0)
            continue;
        if (event.data.u64 == 0)
            return NULL;
        LOCK_SCOPE(&deadlines->mutex);
        start_clock(deadlines, event.data.u64);
    }
}

struct deadlines *deadlines_start(int64_t length_ms, struct error *err)
{
    struct deadlines *deadlines = memory_new(sizeof *deadlines);
    deadlines->length_ms = length_ms;
    pthread_mutex_init(&deadlines->mutex, NULL);
    deadlines->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    deadlines->stop_fd = eventfd(0, EFD_CLOEXEC);
    struct epoll_event stop = {.events = EPOLLIN, .data.u64 = 0};
    if (deadlines->epoll_fd >= 0 && deadlines->stop_fd >= 0 &&
        epoll_ctl(deadlines->epoll_fd, EPOLL_CTL_ADD, deadlines->stop_fd, &stop) == 0 &&
        sync_thread_start(&deadlines->thread, "web-deadline", wait_for_bytes, deadlines, err) == 0)
        return deadlines;
    error_set_errno(err, ERROR_INTERNAL, errno, "cannot keep the time of an HTTP server's requests");
    cleanup_close(&deadlines->epoll_fd);
    cleanup_close(&deadlines->stop_fd);
    pthread_mutex_destroy(&deadlines->mutex);
    free(deadlines);
    return NULL;
}

void deadlines_stop(struct deadlines *deadlines)
{
    eventfd_write(deadlines->stop_fd, 1);
    pthread_join(deadlines->thread, NULL);
    close(deadlines->epoll_fd);
    close(deadlines->stop_fd);
    pthread_mutex_destroy(&deadlines->mutex);
    free(deadlines);
}

void deadlines_await(struct deadlines *deadlines, struct deadline *deadline, int socket)
{
    LOCK_SCOPE(&deadlines->mutex);
    bool known = deadline->socket > 0;
    deadline->socket = socket;
    deadline->turn = ++deadlines->turn;
    deadline->at_ms = 0;
    if (!known) {
        deadline->next = deadlines->list;
        deadlines->list = deadline;
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = deadline->turn};
    if (epoll_ctl(deadlines->epoll_fd, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) < 0)
        start_clock(deadlines, deadline->turn); /* it cannot be watched: it has no longer than a request */
}

void deadlines_met(struct deadlines *deadlines, struct deadline *deadline)
{
    LOCK_SCOPE(&deadlines->mutex);
    deadline->turn = 0;
    deadline->at_ms = 0;
}

void deadlines_forget(struct deadlines *deadlines, struct deadline *deadline)
{
    if (deadline->socket <= 0)
        return;
    LOCK_SCOPE(&deadlines->mutex);
    epoll_ctl(deadlines->epoll_fd, EPOLL_CTL_DEL, deadline->socket, NULL);
    for (struct deadline **link = &deadlines->list; *link; link = &(*link)->next) {
        if (*link != deadline)
            continue;
        *link = deadline->next;
        return;
    }
}
