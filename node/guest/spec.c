#include "guest/spec.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/user.h"

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
    unsigned char digest[20], input[16 + 256];
    memcpy(input, namespace, sizeof namespace);
    int length = snprintf((char *)input + 16, sizeof input - 16, "%.200s/%d", node_id, n);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, input, 16 + (size_t)length, digest) < 0)
        abort(); /* SHA-1 is part of every GnuTLS */
    digest[6] = (digest[6] & 0x0f) | 0x50;
    digest[8] = (digest[8] & 0x3f) | 0x80;
    char hex[33] = "";
    text_hex(digest, 16, hex);
    snprintf(uuid, GUEST_UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* "+64055:+107", as libvirt writes the DAC label of its daemon. */
static bool read_label(const char *label, struct overlay_owner *owner)
{
    unsigned uid, gid;
    int end = 0;
    if (!label || sscanf(label, "+%u:+%u%n", &uid, &gid, &end) != 2 || label[end] != '\0')
        return false;
    *owner = (struct overlay_owner){uid, gid};
    return true;
}

/* Whether a process of this group, in no other and of a user that nobody knows, may read and write the
 * device.
 */
static bool opens_for_group(const char *device, gid_t gid)
{
    enum { OTHERS = S_IROTH | S_IWOTH, GROUP = S_IRGRP | S_IWGRP };
    struct stat info;
    if (stat(device, &info) < 0)
        return false;
    /* the first class that fits counts: a group that is shut out is not helped by what others may */
    return info.st_gid == gid ? (info.st_mode & GROUP) == GROUP : (info.st_mode & OTHERS) == OTHERS;
}

/*
 * A uid that nobody has: of the node's own place, else of the next one where that is free. A user with it, or
 * with it among his subordinate ones, could reach a guest's disk and process.
 */
static bool find_uid(unsigned place, unsigned n, unsigned *uid)
{
    for (unsigned turn = 0; turn < GUEST_UID_NODES; turn++) {
        *uid = GUEST_UID_FIRST + (place + turn) % GUEST_UID_NODES * GUEST_UID_BERTHS + n;
        if (!user_exists(*uid) && !user_is_subordinate("/etc/subuid", *uid))
            return true;
    }
    return false;
}

bool guest_label(const char *qemu_label, const char *node_id, int n, const char *kvm_device,
                 char label[GUEST_LABEL_SIZE])
{
    struct overlay_owner shared;
    unsigned place;
    snprintf(label, GUEST_LABEL_SIZE, "%s", qemu_label ? qemu_label : "");
    if (geteuid() != 0 || n < 0 || n >= GUEST_UID_BERTHS || !read_label(qemu_label, &shared) ||
        sscanf(node_id, "%4x", &place) != 1 || (kvm_device && !opens_for_group(kvm_device, shared.gid)))
        return false;
    unsigned uid;
    if (!find_uid(place, (unsigned)n, &uid))
        return false;
    snprintf(label, GUEST_LABEL_SIZE, "+%u:+%u", uid, (unsigned)shared.gid);
    return true;
}

struct peer_policy guest_peers(const char *service)
{
    struct peer_policy policy = peer_policy_own(service);
    policy.qemu = user_find("libvirt-qemu");
    if (policy.qemu == (uid_t)-1)
        policy.qemu = user_find("qemu");
    policy.guests_from = GUEST_UID_FIRST;
    policy.guests = GUEST_UID_NODES * GUEST_UID_BERTHS;
    return policy;
}

struct overlay_owner guest_spec_owner(const struct guest_spec *spec)
{
    struct overlay_owner owner;
    if (!read_label(spec->qemu_label, &owner))
        return OVERLAY_OWNER_NONE;
    if (!spec->own_uid)
        owner.uid = (uid_t)-1;
    return owner;
}
