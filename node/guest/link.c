#include "guest/link.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "guest/libvirt_error.h"

/* --- the event loop, one for the process ----------------------------------------------------------- */

static void ignore_libvirt_error(void *context, virErrorPtr error)
{
    (void)context;
    (void)error; /* every call of ours reports its own; libvirt's default would write to stderr */
}

static void *run_events(void *unused)
{
    (void)unused;
    for (;;)
        if (virEventRunDefaultImpl() < 0)
            clock_sleep_ms(100);
    return NULL;
}

/* A timer that never fires: virEventRunDefaultImpl() gives up at once when nothing at all is registered. */
static void do_nothing(int timer, void *context)
{
    (void)timer;
    (void)context;
}

static void start_loop(void)
{
    struct error err = ERROR_INIT;
    pthread_t thread;
    virSetErrorFunc(NULL, ignore_libvirt_error);
    if (virInitialize() < 0 || virEventRegisterDefaultImpl() < 0)
        return;
    virEventAddTimeout(-1, do_nothing, NULL, NULL);
    if (sync_thread_start(&thread, "libvirt-events", run_events, NULL, &err) < 0)
        log_error("guest", "%s", err.text);
    else
        pthread_detach(thread);
}

void link_start_event_loop(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_loop);
}

/* --- subscriptions --------------------------------------------------------------------------------- */

static int on_lifecycle(virConnectPtr connection, virDomainPtr domain, int event, int detail, void *context)
{
    (void)connection;
    const struct link_listener *listener = context;
    listener->happened(listener->context, domain, event, detail);
    return 0;
}

static void on_agent(virConnectPtr connection, virDomainPtr domain, int state, int reason, void *context)
{
    (void)connection;
    (void)domain;
    (void)state;
    (void)reason;
    const struct link_listener *listener = context;
    listener->happened(listener->context, NULL, 0, 0);
}

/* libvirt calls it when no callback can come any more. */
static void on_unsubscribed(void *context)
{
    const struct link_listener *listener = context;
    listener->subscribed(listener->context, -1);
}

static int subscribe_to(virConnectPtr connection, int event, virConnectDomainEventGenericCallback callback,
                        const struct link_listener *listener)
{
    listener->subscribed(listener->context, +1);
    int id = virConnectDomainEventRegisterAny(connection, NULL, event, callback, (void *)(uintptr_t)listener,
                                              on_unsubscribed);
    if (id < 0)
        listener->subscribed(listener->context, -1);
    return id;
}

static void unsubscribe_from(virConnectPtr connection, int id)
{
    if (id >= 0)
        virConnectDomainEventDeregisterAny(connection, id);
}

/* --- public ---------------------------------------------------------------------------------------- */

struct link *link_open(const char *uri, const struct link_listener *listener, struct error *err)
{
    struct link *link = malloc(sizeof *link);
    virConnectPtr connection = link ? virConnectOpen(uri) : NULL;
    if (!connection) {
        free(link);
        libvirt_error(
            ERROR_HYPERVISOR, err,
            "cannot connect to %s; is libvirtd (or virtqemud) running and is this user in the group "
            "libvirt?",
            uri);
        return NULL;
    }
    link->connection = connection;
    link->lifecycle = subscribe_to(connection, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
                                   VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle), listener);
    link->agent = subscribe_to(connection, VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE,
                               VIR_DOMAIN_EVENT_CALLBACK(on_agent), listener);
    return link;
}

void link_close(struct link *link)
{
    unsubscribe_from(link->connection, link->lifecycle);
    unsubscribe_from(link->connection, link->agent);
    virConnectClose(link->connection);
    free(link);
}
