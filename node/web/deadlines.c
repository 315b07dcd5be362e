/*
 * Theory of operation: the kernel counts what each connection has received. A thread looks at those that wait
 * for a request, ten times in what one may take; where the count has grown the clock of a request begins. (To
 * be told of the first byte would not do: the library reads it at once, and epoll forgets what is not there
 * any more.) While no connection waits, the thread sleeps.
 */
#include "web/deadlines.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sync.h"

enum { LOOKS = 10 };

struct deadlines {
    int64_t length_ms;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t wake;   /* there is something to look at, or the end */
    bool asleep;           /* the thread: until it is woken */
    bool over;
    struct deadline *list; /* every connection */
};

static const char too_late[] =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nConnection: close\r\n"
    "Content-Length: 75\r\n\r\n"
    "{\"error\": \"the request was not here whole in its time\", \"code\": \"timeout\"}\n";

/* Bytes that the connection has received since it was made; 0 where the kernel does not say. */
static uint64_t count_received(int socket)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

static void cut_off(struct deadline *entry)
{
    entry->waits = false;
    log_debug("http", "a request was not here whole in its time");
    send(entry->socket, too_late, sizeof too_late - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(entry->socket, SHUT_RDWR);
}

/* With the mutex held. When to look again; CLOCK_NEVER while no connection waits. */
static int64_t look_at_all(struct deadlines *deadlines)
{
    int64_t now_ms = clock_monotonic_ms(), next_ms = CLOCK_NEVER;
    for (struct deadline *entry = deadlines->list; entry; entry = entry->next) {
        if (entry->waits && !entry->at_ms && count_received(entry->socket) != entry->received)
            entry->at_ms = now_ms + deadlines->length_ms;
        if (entry->waits && entry->at_ms && now_ms >= entry->at_ms)
            cut_off(entry);
        if (entry->waits)
            next_ms = now_ms + deadlines->length_ms / LOOKS;
    }
    return next_ms;
}

static void *watch_requests(void *argument)
{
    struct deadlines *deadlines = argument;
    LOCK_SCOPE(&deadlines->mutex);
    while (!deadlines->over) {
        int64_t next_ms = look_at_all(deadlines);
        deadlines->asleep = next_ms == CLOCK_NEVER;
        sync_cond_wait(&deadlines->wake, &deadlines->mutex, next_ms);
    }
    return NULL;
}

static void free_deadlines(struct deadlines *deadlines)
{
    pthread_cond_destroy(&deadlines->wake);
    pthread_mutex_destroy(&deadlines->mutex);
    free(deadlines);
}

struct deadlines *deadlines_start(int64_t length_ms, struct error *err)
{
    struct deadlines *deadlines = memory_new(sizeof *deadlines);
    deadlines->length_ms = length_ms;
    pthread_mutex_init(&deadlines->mutex, NULL);
    sync_cond_init(&deadlines->wake);
    if (sync_thread_start(&deadlines->thread, "web-deadline", watch_requests, deadlines, err) == 0)
        return deadlines;
    free_deadlines(deadlines);
    return NULL;
}

void deadlines_stop(struct deadlines *deadlines)
{
    pthread_mutex_lock(&deadlines->mutex);
    deadlines->over = true;
    pthread_cond_signal(&deadlines->wake);
    pthread_mutex_unlock(&deadlines->mutex);
    pthread_join(deadlines->thread, NULL);
    free_deadlines(deadlines);
}

void deadlines_await(struct deadlines *deadlines, struct deadline *deadline, int socket)
{
    LOCK_SCOPE(&deadlines->mutex);
    if (deadline->socket) {
        deadline->received = count_received(socket);
    } else {
        deadline->next = deadlines->list;
        deadlines->list = deadline;
    }
    deadline->socket = socket;
    deadline->waits = true;
    deadline->at_ms = 0;
    if (deadlines->asleep)
        pthread_cond_signal(&deadlines->wake);
}

void deadlines_met(struct deadlines *deadlines, struct deadline *deadline)
{
    LOCK_SCOPE(&deadlines->mutex);
    deadline->waits = false;
}

void deadlines_forget(struct deadlines *deadlines, struct deadline *deadline)
{
    LOCK_SCOPE(&deadlines->mutex);
    for (struct deadline **link = &deadlines->list; *link; link = &(*link)->next) {
        if (*link != deadline)
            continue;
        *link = deadline->next;
        return;
    }
}
