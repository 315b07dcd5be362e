/* What a lease's domain is made of. From it domain_xml_render() makes the XML and domain_inspect() the
 * allow-list. */
#ifndef BERTHOS_GUEST_SPEC_H
#define BERTHOS_GUEST_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"
#include "guest/hypervisor.h"
#include "image/image.h"

/* Limits that follow from the shape: QEMU's own overhead is granted a GiB, CPU weight goes by vCPU. */
#define GUEST_SOFT_LIMIT_KIB(spec) (((spec)->mem_mib + 1024) * 1024)
#define GUEST_CPU_SHARES(spec)     (1024 * (spec)->vcpu)

#define GUEST_UUID_SIZE 37
#define GUEST_NAME_SIZE 32

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
    int64_t vcpu;
    int64_t mem_mib;
    const char *kernel; /* paths */
    const char *initrd;
    const char *cmdline;
    const char *base;        /* backing file */
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

/* The group of QEMU's process, from the DAC label; (gid_t)-1 where there is no label. */
gid_t guest_spec_group(const struct guest_spec *spec);

#endif
