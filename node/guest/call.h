/*
 * One call into libvirt with a deadline; connection.h says how. Private to guest/.
 *
 * A call's state lives on the heap and is shared by the caller and the worker: whoever lets go of it last
 * clears it, so a worker that comes back after its caller gave up writes into memory that is still there.
 */
#ifndef BERTHOS_GUEST_CALL_H
#define BERTHOS_GUEST_CALL_H

#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "guest/handle.h"

/* Zeroed state of `size` bytes; `clear` (may be NULL) frees what is inside. Never NULL. */
void *call_new(size_t size, void (*clear)(void *state));
void call_release(void *state);

static inline void cleanup_call(void *slot)
{
    if (*(void **)slot)
        call_release(*(void **)slot);
}
#define CLEANUP_CALL CLEANUP(cleanup_call)

/* Runs on a worker thread. The connection is borrowed. */
typedef int call_work(virConnectPtr connection, void *state, struct error *err);

/*
 * Runs `work` with a connection and waits for it until timeout_ms. 0 or -1 as work returned, then the state
 * is settled; or -1 with ERROR_HYPERVISOR when it was late or libvirt could not be reached, then the state
 * must not be read any more, only released. what: the words for the error, "start the domain".
 */
int call_hypervisor(struct hypervisor *hypervisor, const char *what, call_work *work, void *state,
                    int64_t timeout_ms, struct error *err);

/* On a worker: whether the caller has given up waiting. */
bool call_abandoned(const void *state);

/* Runs on a worker thread, on the domain of a guest's run, which is borrowed. */
typedef int call_guest_work(virDomainPtr domain, void *state, struct error *err);

/*
 * As call_hypervisor(), for a call on one guest: the worker finds the domain and sees that it is still that
 * run and that somebody waits for it. ERROR_NOT_FOUND where the run is gone.
 */
int call_guest(const struct guest *guest, const char *what, call_guest_work *work, void *state,
               int64_t timeout_ms, struct error *err);

/* On a worker: the domain of the guest's run, or NULL with ERROR_NOT_FOUND or ERROR_HYPERVISOR. Owned. */
virDomainPtr call_domain(virConnectPtr connection, const struct guest *guest, struct error *err);

/*
 * On a worker: whether the run of a domain that was ended is gone. A transient domain is unknown once it has
 * stopped; it is looked up again, so that "gone" is seen, not believed. run: asked for before the end, which
 * takes it out of `domain`. -1 with ERROR_ENDING or ERROR_HYPERVISOR.
 */
int call_see_gone(virDomainPtr domain, int run, struct error *err);

CLEANUP_DEFINE(domain, virDomainPtr, virDomainFree);
#define CLEANUP_DOMAIN CLEANUP(cleanup_domain)

#endif
