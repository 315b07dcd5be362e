/*
 * What a hypervisor is inside: the connection to libvirt, the threads that use it, and who is told of events.
 * Private to guest/.
 *
 * Theory of operation: libvirt calls block without a bound, so each runs on a short-lived worker thread and
 * the caller waits on a condition (call.h). Starting a thread costs tens of microseconds, a call at least
 * hundreds, and between calls nothing of ours exists that could wake up. Workers that never come back (a
 * daemon that hangs) are counted; past a limit new calls fail at once instead of piling up.
 *
 * Lock order: hypervisor.mutex and call.mutex are never held together, nor over a libvirt call.
 */
#ifndef BERTHOS_GUEST_CONNECTION_H
#define BERTHOS_GUEST_CONNECTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/link.h"
#include "guest/watcher.h"

struct hypervisor {
    char *uri;
    struct link_listener listener; /* its context is this */
    pthread_mutex_t mutex;         /* guards all below */
    pthread_cond_t changed;        /* an event came, or a worker ended */
    struct link *link;             /* NULL when there is none */
    int subscriptions;             /* of links, open or closed, that may still call back */
    int workers;                   /* threads inside libvirt now */
    int holders;                   /* who wants the connection to stay open between calls */
    uint64_t events;
    struct guest_watcher watcher;
};

/*
 * Starts a worker, unless there are `most` already: a detached thread whose last act is
 * connection_end_worker(). name: at most 15 characters. -1 with ERROR_HYPERVISOR or ERROR_INTERNAL.
 */
int connection_start_worker(struct hypervisor *hypervisor, int most, const char *name, void *(*run)(void *),
                            void *argument, struct error *err);

/*
 * The last thing that a worker does with the hypervisor, which may be freed right after. A connection that
 * nobody holds is closed: libvirtd pings every open one each five seconds, and a node without a lease shall
 * not wake up.
 */
void connection_end_worker(struct hypervisor *hypervisor);

/* On a worker: a living connection with a reference for the caller, opened when there is none. NULL with
 * ERROR_HYPERVISOR. */
virConnectPtr connection_take(struct hypervisor *hypervisor, struct error *err);

/* Forgets this connection, or whichever there is for NULL; another that took its place stays. */
void connection_drop(struct hypervisor *hypervisor, virConnectPtr connection);

/* Closes the connection when nobody holds it and no call is on its way. */
void connection_close_unheld(struct hypervisor *hypervisor);

/* A count that moves with every domain event, and a wait for it to move. False at the deadline. */
uint64_t connection_events(struct hypervisor *hypervisor);
bool connection_wait_event(struct hypervisor *hypervisor, uint64_t seen, int64_t deadline_ms);

#endif
