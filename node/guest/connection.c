#include "guest/connection.h"

#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/sync.h"

int connection_start_worker(struct hypervisor *hypervisor, int most, const char *name, void *(*run)(void *),
                            void *argument, struct error *err)
{
    pthread_t thread;
    pthread_mutex_lock(&hypervisor->mutex);
    bool full = hypervisor->workers >= most;
    if (!full)
        hypervisor->workers++;
    pthread_mutex_unlock(&hypervisor->mutex);
    if (full)
        return error_set(err, ERROR_HYPERVISOR, "%d calls to libvirt are stuck already; restart libvirtd",
                         most);
    if (sync_thread_start(&thread, name, run, argument, err) < 0) {
        LOCK_SCOPE(&hypervisor->mutex);
        hypervisor->workers--;
        return -1;
    }
    pthread_detach(thread);
    return 0;
}

/* With the mutex held: takes the link out when nobody wants it to stay open. */
static struct link *take_unheld(struct hypervisor *hypervisor, int own_workers)
{
    if (hypervisor->holders > 0 || hypervisor->workers > own_workers)
        return NULL;
    return TAKE(hypervisor->link);
}

void connection_end_worker(struct hypervisor *hypervisor)
{
    pthread_mutex_lock(&hypervisor->mutex);
    struct link *link = take_unheld(hypervisor, 1);
    if (link) {
        pthread_mutex_unlock(&hypervisor->mutex);
        link_close(link);
        pthread_mutex_lock(&hypervisor->mutex);
    }
    hypervisor->workers--;
    pthread_cond_broadcast(&hypervisor->changed);
    pthread_mutex_unlock(&hypervisor->mutex);
}

struct retired_link {
    struct hypervisor *hypervisor;
    struct link *link;
};

static void *run_retire(void *argument)
{
    struct retired_link *retired = argument;
    struct hypervisor *hypervisor = retired->hypervisor;
    link_close(retired->link);
    free(retired);
    connection_end_worker(hypervisor);
    return NULL;
}

/* Closes a link that is no longer the hypervisor's. It asks the daemon and may hang with it: a worker does
 * it. A connection lost is better than a caller stuck. */
static void retire_link(struct hypervisor *hypervisor, struct link *link)
{
    struct error ignored = ERROR_INIT;
    struct retired_link *retired = link ? malloc(sizeof *retired) : NULL;
    if (!retired)
        return;
    *retired = (struct retired_link){hypervisor, link};
    if (connection_start_worker(hypervisor, INT_MAX, "libvirt-close", run_retire, retired, &ignored) < 0)
        free(retired);
}

void connection_close_unheld(struct hypervisor *hypervisor)
{
    pthread_mutex_lock(&hypervisor->mutex);
    struct link *link = take_unheld(hypervisor, 0);
    pthread_mutex_unlock(&hypervisor->mutex);
    retire_link(hypervisor, link);
}

void connection_drop(struct hypervisor *hypervisor, virConnectPtr connection)
{
    pthread_mutex_lock(&hypervisor->mutex);
    bool it = hypervisor->link && (!connection || hypervisor->link->connection == connection);
    struct link *link = it ? TAKE(hypervisor->link) : NULL;
    pthread_mutex_unlock(&hypervisor->mutex);
    retire_link(hypervisor, link);
}

/* The present connection with a reference for the caller, or NULL. */
static virConnectPtr present_connection(struct hypervisor *hypervisor)
{
    LOCK_SCOPE(&hypervisor->mutex);
    if (!hypervisor->link)
        return NULL;
    virConnectRef(hypervisor->link->connection);
    return hypervisor->link->connection;
}

virConnectPtr connection_take(struct hypervisor *hypervisor, struct error *err)
{
    virConnectPtr connection = present_connection(hypervisor);
    if (connection) {
        if (virConnectIsAlive(connection) == 1)
            return connection;
        connection_drop(hypervisor, connection);
        virConnectClose(connection);
    }
    struct link *link = link_open(hypervisor->uri, &hypervisor->listener, err);
    if (!link)
        return NULL;
    connection = link->connection;
    virConnectRef(connection);
    pthread_mutex_lock(&hypervisor->mutex);
    bool installed = !hypervisor->link;
    if (installed)
        hypervisor->link = link;
    pthread_mutex_unlock(&hypervisor->mutex);
    if (!installed)
        link_close(link); /* another worker was faster: this one serves its one call and is gone with it */
    return connection;
}

uint64_t connection_events(struct hypervisor *hypervisor)
{
    LOCK_SCOPE(&hypervisor->mutex);
    return hypervisor->events;
}

bool connection_wait_event(struct hypervisor *hypervisor, uint64_t seen, int64_t deadline_ms)
{
    LOCK_SCOPE(&hypervisor->mutex);
    while (hypervisor->events == seen)
        if (!sync_cond_wait(&hypervisor->changed, &hypervisor->mutex, deadline_ms))
            return hypervisor->events != seen;
    return true;
}
