/*
 * Theory of operation: libvirt calls block without a bound, so each runs on a short-lived worker thread and
 * the caller waits on a condition. Starting a thread costs tens of microseconds, a call at least hundreds,
 * and between calls nothing of ours exists that could wake up. Workers that never come back (a daemon that
 * hangs) are counted; past a limit new calls fail at once instead of piling up.
 *
 * Lock order: hypervisor.mutex and call.mutex are never held together, nor over a libvirt call.
 */
#include "guest/hypervisor.h"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/guest.h"
#include "guest/link.h"

enum { WORKERS_MAX = 64 };

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

/* In front of each state. */
struct call {
    pthread_mutex_t mutex; /* guards references, finished, abandoned, result */
    pthread_cond_t done;
    int references;
    bool finished, abandoned;
    int result;
    struct error err;
    void (*clear)(void *state);
    struct hypervisor *hypervisor;
    call_work *work;
    struct guest guest;         /* of call_guest() */
    call_guest_work *on_domain; /* the same */
    max_align_t state[];
};

static struct call *call_of(const void *state)
{
    return (struct call *)((char *)(uintptr_t)state - offsetof(struct call, state));
}

void *call_new(size_t size, void (*clear)(void *state))
{
    struct call *call = calloc(1, sizeof *call + size);
    if (!call)
        abort();
    pthread_mutex_init(&call->mutex, NULL);
    sync_cond_init(&call->done);
    call->references = 1;
    call->clear = clear;
    return call->state;
}

void call_release(void *state)
{
    struct call *call = call_of(state);
    pthread_mutex_lock(&call->mutex);
    bool last = --call->references == 0;
    pthread_mutex_unlock(&call->mutex);
    if (!last)
        return;
    if (call->clear)
        call->clear(state);
    pthread_cond_destroy(&call->done);
    pthread_mutex_destroy(&call->mutex);
    free(call);
}

bool call_abandoned(const void *state)
{
    struct call *call = call_of(state);
    LOCK_SCOPE(&call->mutex);
    return call->abandoned;
}

int call_libvirt_error(enum error_code code, struct error *err, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    virErrorPtr last = virGetLastError();
    return error_set(err, code, "%s: libvirt says: %s", what,
                     last && last->message ? last->message : "nothing about why");
}

virDomainPtr call_domain(virConnectPtr connection, const struct guest *guest, struct error *err)
{
    CLEANUP_DOMAIN virDomainPtr domain = virDomainLookupByUUIDString(connection, guest->uuid);
    if (!domain) {
        bool unknown = virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
        call_libvirt_error(unknown ? ERROR_NOT_FOUND : ERROR_HYPERVISOR, err, "cannot find the guest %s",
                           guest->uuid);
        return NULL;
    }
    if (guest->run == GUEST_ANY_RUN || (int)virDomainGetID(domain) == guest->run)
        return TAKE(domain);
    error_set(err, ERROR_NOT_FOUND, "the guest %s is gone; another runs in its place", guest->uuid);
    return NULL;
}

int call_see_gone(virDomainPtr domain, struct error *err)
{
    struct error missing = ERROR_INIT;
    struct guest ended = {.run = (int)virDomainGetID(domain)};
    if (virDomainGetUUIDString(domain, ended.uuid) < 0)
        return call_libvirt_error(ERROR_HYPERVISOR, err, "cannot see whether the guest is gone");
    CLEANUP_DOMAIN virDomainPtr left = call_domain(virDomainGetConnect(domain), &ended, &missing);
    if (left)
        return error_set(err, ERROR_ENDING, "the guest is still there after its end");
    if (missing.code == ERROR_NOT_FOUND)
        return 0;
    *err = missing;
    return -1;
}

/* --- events ---------------------------------------------------------------------------------------- */

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

uint64_t hypervisor_events(struct hypervisor *hypervisor)
{
    LOCK_SCOPE(&hypervisor->mutex);
    return hypervisor->events;
}

bool hypervisor_wait_event(struct hypervisor *hypervisor, uint64_t seen, int64_t deadline_ms)
{
    LOCK_SCOPE(&hypervisor->mutex);
    while (hypervisor->events == seen)
        if (!sync_cond_wait(&hypervisor->changed, &hypervisor->mutex, deadline_ms))
            return hypervisor->events != seen;
    return true;
}

/* --- the connection -------------------------------------------------------------------------------- */

struct retired {
    struct hypervisor *hypervisor;
    struct link *link;
};

static void end_worker(struct hypervisor *hypervisor);

static void *run_retire(void *argument)
{
    struct retired *retired = argument;
    struct hypervisor *hypervisor = retired->hypervisor;
    link_close(retired->link);
    free(retired);
    end_worker(hypervisor);
    return NULL;
}

/* Closes a link that is no longer the hypervisor's. It asks the daemon and may hang with it: a thread does
 * it. */
static void retire(struct hypervisor *hypervisor, struct link *link)
{
    struct error err = ERROR_INIT;
    pthread_t thread;
    struct retired *retired = malloc(sizeof *retired);
    if (!retired)
        return; /* a connection lost is better than a caller stuck */
    *retired = (struct retired){hypervisor, link};
    pthread_mutex_lock(&hypervisor->mutex);
    hypervisor->workers++;
    pthread_mutex_unlock(&hypervisor->mutex);
    if (sync_thread_start(&thread, "libvirt-close", run_retire, retired, &err) == 0) {
        pthread_detach(thread);
        return;
    }
    free(retired);
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->workers--;
}

/* With the mutex held: takes the link out when nobody wants it to stay open. */
static struct link *take_unheld(struct hypervisor *hypervisor, int own_workers)
{
    if (hypervisor->holders > 0 || hypervisor->workers > own_workers)
        return NULL;
    return TAKE(hypervisor->link);
}

/*
 * The last thing that a worker does with the hypervisor, which may be freed right after. A connection that
 * nobody holds is closed: libvirtd pings every open one each five seconds, and a node without a lease shall
 * not wake up.
 */
static void end_worker(struct hypervisor *hypervisor)
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

void hypervisor_hold(struct hypervisor *hypervisor)
{
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->holders++;
}

void hypervisor_release(struct hypervisor *hypervisor)
{
    pthread_mutex_lock(&hypervisor->mutex);
    hypervisor->holders--;
    struct link *link = take_unheld(hypervisor, 0);
    pthread_mutex_unlock(&hypervisor->mutex);
    if (link)
        retire(hypervisor, link);
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

/* Forgets the link over this connection, or whichever there is for NULL; another that took its place stays.
 */
static void drop_link(struct hypervisor *hypervisor, virConnectPtr connection)
{
    pthread_mutex_lock(&hypervisor->mutex);
    bool it = hypervisor->link && (!connection || hypervisor->link->connection == connection);
    struct link *link = it ? TAKE(hypervisor->link) : NULL;
    pthread_mutex_unlock(&hypervisor->mutex);
    if (link)
        retire(hypervisor, link);
}

/* On a worker: a living connection with a reference for the caller, opened when there is none. */
static virConnectPtr acquire_connection(struct hypervisor *hypervisor, struct error *err)
{
    virConnectPtr connection = present_connection(hypervisor);
    if (connection) {
        if (virConnectIsAlive(connection) == 1)
            return connection;
        drop_link(hypervisor, connection);
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
        link_close(
            link); /* another worker was faster: this connection serves its one call and is gone with it */
    return connection;
}

/* --- calls ----------------------------------------------------------------------------------------- */

static void *run_call(void *state)
{
    struct call *call = call_of(state);
    struct hypervisor *hypervisor = call->hypervisor;
    struct error err = ERROR_INIT;
    int result = -1;
    virResetLastError();
    virConnectPtr connection = acquire_connection(hypervisor, &err);
    if (connection) {
        result = call->work(connection, state, &err);
        virConnectClose(connection);
    }
    pthread_mutex_lock(&call->mutex);
    call->finished = true;
    call->result = result;
    call->err = err;
    pthread_cond_signal(&call->done);
    pthread_mutex_unlock(&call->mutex);
    call_release(state);
    end_worker(hypervisor);
    return NULL;
}

static int start_worker(struct hypervisor *hypervisor, struct call *call, struct error *err)
{
    pthread_t thread;
    pthread_mutex_lock(&hypervisor->mutex);
    bool full = hypervisor->workers >= WORKERS_MAX;
    if (!full)
        hypervisor->workers++;
    pthread_mutex_unlock(&hypervisor->mutex);
    if (full)
        return error_set(err, ERROR_HYPERVISOR, "%d calls to libvirt are stuck already; restart libvirtd",
                         WORKERS_MAX);
    call->references++; /* no other thread has it yet */
    if (sync_thread_start(&thread, "libvirt-call", run_call, call->state, err) < 0) {
        call->references--;
        LOCK_SCOPE(&hypervisor->mutex);
        hypervisor->workers--;
        return -1;
    }
    pthread_detach(thread);
    return 0;
}

int hypervisor_call(struct hypervisor *hypervisor, const char *what, call_work *work, void *state,
                    int64_t timeout_ms, struct error *err)
{
    struct call *call = call_of(state);
    int64_t deadline_ms = clock_deadline(timeout_ms);
    call->hypervisor = hypervisor;
    call->work = work;
    call->finished = call->abandoned = false;
    if (start_worker(hypervisor, call, err) < 0)
        return error_prefix(err, "cannot %s", what);

    pthread_mutex_lock(&call->mutex);
    while (!call->finished && sync_cond_wait(&call->done, &call->mutex, deadline_ms))
        continue;
    bool late = call->abandoned = !call->finished;
    int result = late ? -1 : call->result;
    if (result < 0 && !late)
        *err = call->err;
    pthread_mutex_unlock(&call->mutex);
    if (late) {
        drop_link(hypervisor, NULL);
        return error_set(err, ERROR_HYPERVISOR, "cannot %s: libvirt did not answer within %lld ms", what,
                         (long long)timeout_ms);
    }
    return result;
}

/*
 * The work of every call_guest(). Nobody acts for a caller that has given up before the work began: what it
 * wanted of a guest it may want of none by now.
 */
static int work_on_domain(virConnectPtr connection, void *state, struct error *err)
{
    const struct call *call = call_of(state);
    CLEANUP_DOMAIN virDomainPtr domain = call_domain(connection, &call->guest, err);
    if (!domain)
        return -1;
    return call_abandoned(state) ? error_set(err, ERROR_HYPERVISOR, "the call came too late")
                                 : call->on_domain(domain, state, err);
}

int call_guest(const struct guest *guest, const char *what, call_guest_work *work, void *state,
               int64_t timeout_ms, struct error *err)
{
    struct call *call = call_of(state);
    call->guest = *guest;
    call->on_domain = work;
    return hypervisor_call(guest->hypervisor, what, work_on_domain, state, timeout_ms, err);
}

/* --- public ---------------------------------------------------------------------------------------- */

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
    drop_link(hypervisor, NULL);
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

static int ping(virConnectPtr connection, void *state, struct error *err)
{
    (void)state;
    unsigned long version;
    if (virConnectGetLibVersion(connection, &version) < 0)
        return call_libvirt_error(ERROR_HYPERVISOR, err, "libvirt does not answer");
    return 0;
}

int hypervisor_ping(struct hypervisor *hypervisor, int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL void *state = call_new(0, NULL);
    return hypervisor_call(hypervisor, "ask libvirt for its version", ping, state, timeout_ms, err);
}

void guest_watch(struct hypervisor *hypervisor, const struct guest_watcher *watcher)
{
    LOCK_SCOPE(&hypervisor->mutex);
    hypervisor->watcher = watcher ? *watcher : (struct guest_watcher){.context = NULL};
}
