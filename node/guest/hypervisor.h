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

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

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

/* What the daemon and its QEMU can do. Strings are owned by the struct. */
struct hypervisor_facts {
    unsigned long libvirt_version; /* major * 1000000 + minor * 1000 + release, of the daemon */
    unsigned long qemu_version;    /* the same of QEMU */
    char *arch;                    /* of the host, "x86_64" */
    char *emulator;                /* path of the QEMU that runs this architecture; NULL when there is none */
    char *machine;                 /* canonical q35 machine type; NULL when there is none */
    bool video_virtio;             /* the domain capabilities offer virtio video */
    bool graphics_vnc;             /* and VNC graphics */
    bool channel_unix;             /* and unix channels; true where libvirt does not list channels */
    bool cpu_usable;               /* host-passthrough under kvm, maximum under tcg */
    char *security_models;         /* "apparmor dac", as the host capabilities list them; "" when none */
    char *qemu_label;              /* DAC base label, "+64055:+107"; NULL when DAC is off (qemu:///session) */
    int64_t vcpu_given;            /* vCPUs of running domains that are not this node's */
};
void hypervisor_facts_clear(struct hypervisor_facts *facts);

/*
 * Asks for everything above, for KVM or software emulation. node_id: whose domains do not count in
 * vcpu_given; may be NULL. 0, or -1 with ERROR_HYPERVISOR.
 */
int hypervisor_facts(struct hypervisor *hypervisor, bool kvm, const char *node_id, int64_t timeout_ms,
                     struct hypervisor_facts *facts, struct error *err);

/* vCPUs of running domains alone; as hypervisor_facts() counts them, in a millisecond. */
int hypervisor_vcpu_given(struct hypervisor *hypervisor, const char *node_id, int64_t timeout_ms,
                          int64_t *vcpu, struct error *err);

/*
 * QEMU's argument vector for a domain's XML (virConnectDomainXMLToNative), after the XML was validated
 * against libvirt's schema. *Owned*: free(). NULL with ERROR_HYPERVISOR or ERROR_GUEST_FAILED.
 */
char *hypervisor_native_arguments(struct hypervisor *hypervisor, const char *xml, int64_t timeout_ms,
                                  struct error *err);

#endif
