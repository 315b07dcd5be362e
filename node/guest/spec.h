/* What a lease's domain is made of. From it domain_xml_render() makes the XML and domain_inspect() the
 * allow-list. */
#ifndef BERTHOS_GUEST_SPEC_H
#define BERTHOS_GUEST_SPEC_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
