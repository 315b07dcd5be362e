#include "view/audience.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sync.h"
#include "view/view_options.h"

struct audience {
    pthread_mutex_t mutex; /* guards all below and every seat; no other lock is taken under it */
    pthread_cond_t left;
    struct seat *seats;
    bool over; /* everybody was told to go */
};

struct audience *audience_new(void)
{
    struct audience *audience = memory_new(sizeof *audience);
    pthread_mutex_init(&audience->mutex, NULL);
    sync_cond_init(&audience->left);
    return audience;
}

void audience_free(struct audience *audience)
{
    pthread_cond_destroy(&audience->left);
    pthread_mutex_destroy(&audience->mutex);
    free(audience);
}

/* With the mutex held. */
static size_t count_taken(const struct audience *audience)
{
    size_t count = 0;
    for (const struct seat *seat = audience->seats; seat; seat = seat->next)
        count += seat->taken;
    return count;
}

int audience_join(struct audience *audience, struct seat *seat, const char *grant, int socket,
                  struct error *err)
{
    LOCK_SCOPE(&audience->mutex);
    if (audience->over)
        return error_set(err, ERROR_NOT_FOUND, "the lease has ended");
    if (count_taken(audience) >= VIEW_VIEWERS_MAX)
        return error_set(err, ERROR_TOO_MANY,
                         "this lease has %d viewers already, which is as many as it may have; close one",
                         VIEW_VIEWERS_MAX);
    *seat = (struct seat){.audience = audience, .next = audience->seats, .socket = socket, .taken = true};
    seat->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (seat->wake_fd < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot take in another viewer");
    snprintf(seat->grant, sizeof seat->grant, "%s", grant);
    audience->seats = seat;
    return 0;
}

void audience_vacate(struct seat *seat)
{
    LOCK_SCOPE(&seat->audience->mutex);
    seat->taken = false;
}

void audience_leave(struct seat *seat)
{
    struct audience *audience = seat->audience;
    LOCK_SCOPE(&audience->mutex);
    struct seat **link = &audience->seats;
    while (*link != seat)
        link = &(*link)->next;
    *link = seat->next;
    close(seat->wake_fd);
    pthread_cond_broadcast(&audience->left);
}

size_t audience_count(struct audience *audience)
{
    LOCK_SCOPE(&audience->mutex);
    return count_taken(audience);
}

void audience_dismiss(struct audience *audience, const char *grant, enum close_code code, const char *reason)
{
    LOCK_SCOPE(&audience->mutex);
    if (!grant)
        audience->over = true;
    for (struct seat *seat = audience->seats; seat; seat = seat->next) {
        if ((grant && strcmp(seat->grant, grant) != 0) || seat->told != CLOSE_NONE)
            continue;
        seat->told = code;
        seat->reason = reason;
        eventfd_write(seat->wake_fd, 1);
    }
}

enum close_code audience_told(struct seat *seat, const char **reason)
{
    LOCK_SCOPE(&seat->audience->mutex);
    *reason = seat->reason;
    return seat->told;
}

void audience_drain(struct audience *audience, int64_t deadline_ms)
{
    LOCK_SCOPE(&audience->mutex);
    while (audience->seats && sync_cond_wait(&audience->left, &audience->mutex, deadline_ms))
        continue;
    for (struct seat *seat = audience->seats; seat; seat = seat->next)
        shutdown(seat->socket, SHUT_RDWR);
    while (audience->seats)
        sync_cond_wait(&audience->left, &audience->mutex, CLOCK_NEVER);
}
