#include "guest/spec.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void guest_spec_fill(struct guest_spec *spec, const struct config *config, const struct image *image,
                     const struct hypervisor_facts *facts)
{
    *spec = (struct guest_spec){
        .lease_id = "",
        .emulator = facts->emulator,
        .machine = facts->machine,
        .kvm = config->accel == ACCEL_KVM,
        .system = text_starts(config->libvirt_uri, "qemu:///system"),
        .qemu_label = facts->qemu_label,
        .vcpu = config->vcpu,
        .mem_mib = config->mem_gib * 1024,
        .kernel = image->parts[IMAGE_KERNEL].path,
        .initrd = image->parts[IMAGE_INITRD].path,
        .cmdline = image->cmdline,
        .base = image->parts[IMAGE_DISK].path,
        .width = image->display_width,
        .height = image->display_height,
    };
}

void guest_name(const char *node_id, int n, char name[GUEST_NAME_SIZE])
{
    snprintf(name, GUEST_NAME_SIZE, "berth-%.8s-%d", node_id, n);
}

void guest_uuid(const char *node_id, int n, char uuid[GUEST_UUID_SIZE])
{
    /* The namespace of our names: a UUID of version 4, drawn once for this program. */
    static const unsigned char namespace[16] = {0x5b, 0x0e, 0x41, 0xc2, 0x7d, 0x1a, 0x4f, 0x6e,
                                                0x9c, 0x33, 0xa8, 0x71, 0x2e, 0xd4, 0x60, 0x95};
    CLEANUP_FREE char *name = text_format("%s/%d", node_id, n);
    unsigned char digest[20], input[16 + 256];
    size_t length = strlen(name);
    memcpy(input, namespace, sizeof namespace);
    memcpy(input + 16, name, length < 256 ? length : 256);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, input, 16 + (length < 256 ? length : 256), digest) < 0)
        abort(); /* SHA-1 is part of every GnuTLS */
    digest[6] = (digest[6] & 0x0f) | 0x50;
    digest[8] = (digest[8] & 0x3f) | 0x80;
    char hex[33] = "";
    text_hex(digest, 16, hex);
    snprintf(uuid, GUEST_UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

gid_t guest_spec_group(const struct guest_spec *spec)
{
    unsigned uid, gid;
    if (spec->qemu_label && sscanf(spec->qemu_label, "+%u:+%u", &uid, &gid) == 2)
        return gid;
    return (gid_t)-1;
}
