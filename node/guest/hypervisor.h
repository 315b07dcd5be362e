/*
 * The connection to libvirt.
 *
 * libvirt's RPC has no time-out of its own, so no caller of ours ever waits in it: each call runs on a worker
 * thread while the caller waits with a deadline. A call that is late is abandoned: its caller gets
 * ERROR_HYPERVISOR, the connection is dropped and the next call opens a new one. One more thread runs
 * libvirt's event loop.
 *
 * The connection stays open between calls only while somebody holds it.
 *
 * All functions may be called from any thread. None holds a lock while it waits for libvirt.
 */
#ifndef BERTHOS_GUEST_HYPERVISOR_H
#define BERTHOS_GUEST_HYPERVISOR_H

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "guest/watcher.h"

struct hypervisor; /* opaque */

/*
 * Prepares a connection to `uri` (copied; qemu:///system or qemu:///session) without opening it: the first
 * call does. NULL with ERROR_INTERNAL. *Owned*: hypervisor_close().
 */
struct hypervisor *hypervisor_new(const char *uri, struct error *err);
void hypervisor_close(struct hypervisor *hypervisor);
CLEANUP_DEFINE(hypervisor, struct hypervisor *, hypervisor_close);
#define CLEANUP_HYPERVISOR CLEANUP(cleanup_hypervisor)

/*
 * Keeps the connection open (or the next one, once opened) until hypervisor_release(): domain events arrive
 * only then. Whoever has a guest or makes several calls holds it.
 */
void hypervisor_hold(struct hypervisor *hypervisor);
void hypervisor_release(struct hypervisor *hypervisor);

/* For a scope: HYPERVISOR_HOLD_SCOPE(hypervisor); */
static inline void cleanup_hypervisor_hold(struct hypervisor **hypervisor)
{
    hypervisor_release(*hypervisor);
}
static inline struct hypervisor *hypervisor_held(struct hypervisor *hypervisor)
{
    hypervisor_hold(hypervisor);
    return hypervisor;
}
#define HYPERVISOR_HOLD_SCOPE(which)                                                                         \
    CLEANUP(cleanup_hypervisor_hold)                                                                         \
    __attribute__((unused)) struct hypervisor *CLEANUP_JOIN(held_, __LINE__) = hypervisor_held(which)

/* Whether libvirt answers now, within timeout_ms. */
int hypervisor_ping(struct hypervisor *hypervisor, int64_t timeout_ms, struct error *err);

/* Registers the one watcher of this process (copied); kept over reconnects. NULL ends it. */
void hypervisor_watch(struct hypervisor *hypervisor, const struct guest_watcher *watcher);

#endif
