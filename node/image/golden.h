/*
 * Golden states: a guest that booted, settled and was never leased, saved once, from which later guests
 * start.
 *
 * The store is one folder (STATE_DIR/golden, mode 0711), with three files for each NAME, which is the
 * domain's name and has no '.' in it:
 *
 * - NAME.qcow2 (0440): what the guest had written, an overlay on the image's disk. Guests' overlays lie on
 *   it, so it is nobody's to write: ours, with the group that its guest's QEMU had.
 * - NAME.state (0600): its memory and devices, written by guest_save().
 * - NAME.json (0600): what it was made for and of, written last: without it there is no golden state.
 *
 * A state fits one domain alone, by UUID, and one host as it was: everything it depends on is its key, and a
 * check against the key of today says what differs. QEMU's user can write none of the files: what a guest
 * that has broken out of its QEMU does is not there for the next one.
 */
#ifndef BERTHOS_IMAGE_GOLDEN_H
#define BERTHOS_IMAGE_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"

#define GOLDEN_CPU_SIZE 128

/* What a golden state was made for. Equal keys, and nothing else, make it usable. */
struct golden_key {
    char image_digest[DIGEST_HEX_SIZE]; /* sha256 of the image's manifest */
    unsigned long libvirt_version;      /* as struct hypervisor_facts has them */
    unsigned long qemu_version;
    char machine[64];          /* canonical machine type */
    bool kvm;                  /* else emulation */
    char cpu[GOLDEN_CPU_SIZE]; /* golden_host_cpu() under KVM, where the guest sees it; else "" */
    int64_t vcpu, mem_mib, disk_gib;
    char uuid[37]; /* of the domain */
};

/*
 * The host's processor as a guest under host-passthrough sees it: vendor, family, model, stepping and a
 * digest of its flags, which microcode and kernel can change. "" where /proc/cpuinfo does not say.
 */
void golden_host_cpu(char cpu[GOLDEN_CPU_SIZE]);

/* "<folder>/<name>.qcow2" and ".state". *Owned*. */
char *golden_disk(const char *folder, const char *name);
char *golden_state(const char *folder, const char *name);

/*
 * After guest_save() has written golden_state(): moves the guest's overlay in, takes it and the state away
 * from QEMU's user, brings both to the disk, and writes the document; from then on golden_check() finds it.
 * What was kept under the name before is replaced; call golden_drop() before the save, which writes over
 * nothing. cache_path: of the verified-once cache (image/cache.h). -1 with ERROR_INTERNAL or ERROR_IMAGE:
 * then nothing of it is left, the overlay included.
 */
int golden_keep(const char *folder, const char *name, const struct golden_key *key, const char *overlay,
                const char *cache_path, struct error *err);

/*
 * Whether the golden state may be used for this key now. 0; or -1 with ERROR_NOT_FOUND: there is none; or
 * with ERROR_IMAGE and what differs or is wrong: drop it. Hashes the disk once for each identity of the file,
 * as images are; after that it takes microseconds, so it may be asked again after a restore, whether what was
 * opened by path is what was checked.
 */
int golden_check(const char *folder, const char *name, const struct golden_key *key, const char *cache_path,
                 struct error *err);

/*
 * Removes a golden state, the document first, and what a crash left of it in the making; one that is not
 * there is fine, and so is a missing folder. Guests that run on its disk keep it open.
 */
int golden_drop(const char *folder, const char *name, struct error *err);

/*
 * Drops every golden state whose name begins with `prefix` but is none of `keep`. Files of other names, of
 * other kinds and of other nodes are left alone.
 */
int golden_sweep(const char *folder, const char *prefix, const char *const keep[], size_t count,
                 struct error *err);

/* The disk room that one golden state may take: the guest's memory, and what it wrote while it booted. */
uint64_t golden_room_bytes(int64_t mem_mib);

#endif
