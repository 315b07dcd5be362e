#include "guest/hypervisor.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/connection.h"
#include "guest/libvirt_error.h"

static const char *say_why(int detail)
{
    switch (detail) {
    case VIR_DOMAIN_EVENT_SUSPENDED_IOERROR:
        return GUEST_WHY_IO_ERROR;
    case VIR_DOMAIN_EVENT_SUSPENDED_PAUSED:
        return GUEST_WHY_PAUSED;
    case VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG:
        return "its watchdog stopped it";
    default:
        return "libvirt stopped its CPUs";
    }
}

static void tell_watcher(const struct guest_watcher *watcher, virDomainPtr domain, int event, int detail)
{
    char uuid[VIR_UUID_STRING_BUFLEN];
    if (virDomainGetUUIDString(domain, uuid) < 0)
        return;
    if (event == VIR_DOMAIN_EVENT_STOPPED && watcher->gone)
        watcher->gone(watcher->context, uuid);
    bool stands = event == VIR_DOMAIN_EVENT_SUSPENDED;
    if ((stands || event == VIR_DOMAIN_EVENT_RESUMED) && watcher->paused)
        watcher->paused(watcher->context, uuid, (int)virDomainGetID(domain), stands ? say_why(detail) : NULL);
}

static void on_event(void *context, virDomainPtr domain, int event, int detail)
{
    struct hypervisor *hypervisor = context;
    pthread_mutex_lock(&hypervisor->mutex);
    struct guest_watcher watcher = hypervisor->watcher;
    pthread_mutex_unlock(&hypervisor->mutex);
    if (domain)
        tell_watcher(&watcher, domain, event, detail);
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->events++;
    pthread_cond_broadcast(&hypervisor->changed);
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
    hypervisor->listener = (struct link_listener){hypervisor, on_event, on_subscribed};
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
