/* What a lease's domain is made of. From it domain_xml_render() makes the XML and domain_inspect() the
 * allow-list. */
#ifndef BERTHOS_GUEST_SPEC_H
#define BERTHOS_GUEST_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/peer.h"
#include "config/config.h"
#include "guest/handle.h"
#include "guest/hypervisor_facts.h"
#include "image/image.h"
#include "image/overlay.h"

/* Limits that follow from the shape: QEMU's own overhead is granted a GiB, CPU weight goes by vCPU. */
#define GUEST_SOFT_LIMIT_KIB(spec) (((spec)->mem_mib + 1024) * 1024)
#define GUEST_CPU_SHARES(spec)     (1024 * (spec)->vcpu)

#define GUEST_NAME_SIZE  32
#define GUEST_LABEL_SIZE 48

/* All strings are borrowed for the life of the struct. */
struct guest_spec {
    const char *name;       /* berth-<first 8 of nodeId>-<n> */
    const char *uuid;       /* v5 of nodeId and n, text form */
    const char *node_id;    /* of our metadata */
    const char *lease_id;   /* of our metadata; "" for a guest that is not leased (doctor's canary) */
    const char *emulator;   /* path of the QEMU binary, from the domain capabilities */
    const char *machine;    /* canonical machine type, "pc-q35-7.2", from the domain capabilities */
    bool kvm;               /* else software emulation (tcg) */
    bool system;            /* qemu:///system: DAC labels apply */
    const char *qemu_label; /* DAC label of QEMU's process, "+64055:+107"; NULL with qemu:///session */
    bool own_uid;           /* the uid in qemu_label is this guest's alone: guest_label() said so */
    int64_t vcpu;
    int64_t mem_mib;
    const char *kernel; /* paths */
    const char *initrd;
    const char *cmdline;
    const char *base;        /* the image's disk, last of the chain */
    const char *golden;      /* saved disk (image/golden.h) between base and overlay; NULL: there is none */
    const char *overlay;     /* NULL: no disk (doctor's canary) */
    const char *console_log; /* file that virtlogd writes, capped by it; NULL: no serial console */
    uint32_t width, height;  /* of the display, pixels */
};

/*
 * Everything that config, image and hypervisor decide; name, uuid, node_id, lease_id, overlay and console_log
 * stay for the caller. Borrows from all three.
 */
void guest_spec_fill(struct guest_spec *spec, const struct config *config, const struct image *image,
                     const struct hypervisor_facts *facts);

/* "berth-<first 8 of node_id>-<n>". */
void guest_name(const char *node_id, int n, char name[GUEST_NAME_SIZE]);

/* The UUID of version 5 (RFC 4122 section 4.3) of a node's n-th guest: the same for ever, and no other
 * node's. */
void guest_uuid(const char *node_id, int n, char uuid[GUEST_UUID_SIZE]);

/* Own uids: GUEST_UID_FIRST + (node's place of GUEST_UID_NODES) * GUEST_UID_BERTHS + n. */
#define GUEST_UID_FIRST  70000
#define GUEST_UID_NODES  400
#define GUEST_UID_BERTHS 64

/*
 * The DAC label of the QEMU of a node's n-th berth. Guests of one uid could, once they have broken out of
 * their QEMU, open each other's overlays and trace each other's processes; so each berth's QEMU gets a uid of
 * its own: the label is "+<own uid>:+<gid of qemu_label>", and true is returned. The uids lie outside of what
 * Debian hands out (Debian Policy 9.2.2: by default up to 65535) and below the subordinate uids of useradd
 * (from 100000); one that a user has all the same, or among his subordinate ones, is skipped. Two nodes of
 * one host meet in one of 400 cases, and then share uids berth by berth.
 *
 * qemu_label: of the system daemon ("+uid:+gid"), or NULL. kvm_device: "/dev/kvm", or NULL under emulation.
 *
 * Where that cannot be the label is a copy of qemu_label ("" for NULL) and false is returned: guests share a
 * uid. That is where the caller is not root and could not give the overlay away; where qemu_label is of
 * another form; where n is 64 or more; where every uid is taken; and where the device opens neither for
 * everybody nor for the label's group: a uid without a user has no further groups, so Debian's /dev/kvm (0660
 * root:kvm) stays closed for it.
 */
bool guest_label(const char *qemu_label, const char *node_id, int n, const char *kvm_device,
                 char label[GUEST_LABEL_SIZE]);

/*
 * Who may connect to a node of this process: peer_policy_own(), and every uid refused that a guest's QEMU may
 * run as: libvirt's user for it (libvirt-qemu on Debian, qemu elsewhere) and the range of the berths' own.
 * service: see there.
 */
struct peer_policy guest_peers(const char *service);

/* Who the overlay belongs to: the uid of qemu_label where it is the guest's own, and its gid. */
struct overlay_owner guest_spec_owner(const struct guest_spec *spec);

#endif
