#include "guest/hypervisor.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/connection.h"
#include "guest/libvirt_error.h"

static void on_changed(void *context)
{
    struct hypervisor *hypervisor = context;
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->events++;
    pthread_cond_broadcast(&hypervisor->changed);
}

static struct guest_watcher watcher_of(struct hypervisor *hypervisor)
{
    LOCK_SCOPE(&hypervisor->mutex);
    return hypervisor->watcher;
}

static void on_stopped(void *context, const char *uuid)
{
    struct guest_watcher watcher = watcher_of(context);
    if (watcher.gone)
        watcher.gone(watcher.context, uuid);
}

static void on_paused(void *context, const char *uuid, int run, const char *why)
{
    struct guest_watcher watcher = watcher_of(context);
    if (watcher.paused)
        watcher.paused(watcher.context, uuid, run, why);
}

static void on_subscribed(void *context, int difference)
{
    struct hypervisor *hypervisor = context;
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->subscriptions += difference;
    pthread_cond_broadcast(&hypervisor->changed);
}

struct hypervisor *hypervisor_new(const char *uri, struct error *err)
{
    link_start_event_loop();
    struct hypervisor *hypervisor = calloc(1, sizeof *hypervisor);
    if (!hypervisor) {
        error_set(err, ERROR_INTERNAL, "cannot prepare the connection to libvirt: out of memory");
        return NULL;
    }
    hypervisor->uri = text_copy(uri);
    hypervisor->listener =
        (struct link_listener){hypervisor, on_changed, on_stopped, on_paused, on_subscribed};
    pthread_mutex_init(&hypervisor->mutex, NULL);
    sync_cond_init(&hypervisor->changed);
    return hypervisor;
}

void hypervisor_close(struct hypervisor *hypervisor)
{
    connection_drop(hypervisor, NULL);
    pthread_mutex_lock(&hypervisor->mutex);
    int64_t deadline_ms = clock_deadline(2000);
    while ((hypervisor->workers > 0 || hypervisor->subscriptions > 0) &&
           sync_cond_wait(&hypervisor->changed, &hypervisor->mutex, deadline_ms))
        continue;
    bool stuck = hypervisor->workers > 0 || hypervisor->subscriptions > 0;
    pthread_mutex_unlock(&hypervisor->mutex);
    if (stuck) {
        /* A worker inside libvirt still refers to it: better lost than freed under its feet. */
        log_warning("guest", "libvirt did not give back %d calls; leaving them", hypervisor->workers);
        return;
    }
    pthread_cond_destroy(&hypervisor->changed);
    pthread_mutex_destroy(&hypervisor->mutex);
    free(hypervisor->uri);
    free(hypervisor);
}

void hypervisor_hold(struct hypervisor *hypervisor)
{
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->holders++;
}

void hypervisor_release(struct hypervisor *hypervisor)
{
    pthread_mutex_lock(&hypervisor->mutex);
    hypervisor->holders--;
    pthread_mutex_unlock(&hypervisor->mutex);
    connection_close_unheld(hypervisor);
}

void hypervisor_watch(struct hypervisor *hypervisor, const struct guest_watcher *watcher)
{
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->watcher = watcher ? *watcher : (struct guest_watcher){.context = NULL};
}

static int read_version(virConnectPtr connection, void *state, struct error *err)
{
    (void)state;
    unsigned long version;
    if (virConnectGetLibVersion(connection, &version) < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "libvirt does not answer");
    return 0;
}

int hypervisor_ping(struct hypervisor *hypervisor, int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL void *state = call_new(0, NULL);
    return call_hypervisor(hypervisor, "ask libvirt for its version", read_version, state, timeout_ms, err);
}
