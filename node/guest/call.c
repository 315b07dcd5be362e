#include "guest/call.h"

#include <libvirt/virterror.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sync.h"
#include "guest/connection.h"
#include "guest/libvirt_error.h"

enum { WORKERS_MAX = 64 };

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
    struct call *call = memory_new(sizeof *call + size);
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

static void *run_call(void *state)
{
    struct call *call = call_of(state);
    struct hypervisor *hypervisor = call->hypervisor;
    struct error err = ERROR_INIT;
    int result = -1;
    virResetLastError();
    virConnectPtr connection = connection_take(hypervisor, &err);
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
    connection_end_worker(hypervisor);
    return NULL;
}

int call_hypervisor(struct hypervisor *hypervisor, const char *what, call_work *work, void *state,
                    int64_t timeout_ms, struct error *err)
{
    struct call *call = call_of(state);
    int64_t deadline_ms = clock_deadline(timeout_ms);
    call->hypervisor = hypervisor;
    call->work = work;
    call->finished = call->abandoned = false;
    call->references++; /* the worker's; no other thread has it yet */
    if (connection_start_worker(hypervisor, WORKERS_MAX, "libvirt-call", run_call, state, err) < 0) {
        call->references--;
        return error_prefix(err, "cannot %s", what);
    }

    pthread_mutex_lock(&call->mutex);
    while (!call->finished && sync_cond_wait(&call->done, &call->mutex, deadline_ms))
        continue;
    bool late = call->abandoned = !call->finished;
    int result = late ? -1 : call->result;
    if (result < 0 && !late)
        *err = call->err;
    pthread_mutex_unlock(&call->mutex);
    if (late) {
        connection_drop(hypervisor, NULL);
        return error_set(err, ERROR_HYPERVISOR, "cannot %s: libvirt did not answer within %lld ms", what,
                         (long long)timeout_ms);
    }
    return result;
}

virDomainPtr call_domain(virConnectPtr connection, const struct guest *guest, struct error *err)
{
    CLEANUP_DOMAIN virDomainPtr domain = virDomainLookupByUUIDString(connection, guest->uuid);
    if (!domain) {
        bool unknown = virGetLastErrorCode() == VIR_ERR_NO_DOMAIN;
        libvirt_error(unknown ? ERROR_NOT_FOUND : ERROR_HYPERVISOR, err, "cannot find the guest %s",
                      guest->uuid);
        return NULL;
    }
    if (guest->run == GUEST_ANY_RUN || (int)virDomainGetID(domain) == guest->run)
        return TAKE(domain);
    error_set(err, ERROR_NOT_FOUND, "the guest %s is gone; another runs in its place", guest->uuid);
    return NULL;
}

int call_see_gone(virDomainPtr domain, int run, struct error *err)
{
    struct error missing = ERROR_INIT;
    struct guest ended = {.run = run};
    if (virDomainGetUUIDString(domain, ended.uuid) < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot see whether the guest is gone");
    CLEANUP_DOMAIN virDomainPtr left = call_domain(virDomainGetConnect(domain), &ended, &missing);
    if (left)
        return error_set(err, ERROR_ENDING, "the guest is still there after its end");
    if (missing.code == ERROR_NOT_FOUND)
        return 0;
    *err = missing;
    return -1;
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
    return call_hypervisor(guest->hypervisor, what, work_on_domain, state, timeout_ms, err);
}
