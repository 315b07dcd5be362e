/* What libvirt and its QEMU can do. */
#ifndef BERTHOS_GUEST_HYPERVISOR_FACTS_H
#define BERTHOS_GUEST_HYPERVISOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/hypervisor.h"

/* Strings are owned by the struct. */
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
