/*
 * Booting a berth's guest, in the phases that `berth up` shows: define (overlay and domain), boot (until the
 * guest draws on its display), desktop (until its agent speaks, which the image starts last), first frame (a
 * fresh picture that is not blank). Private to lease/.
 */
#ifndef BERTHOS_LEASE_BOOT_H
#define BERTHOS_LEASE_BOOT_H

#include "lease/berth.h"

/*
 * Starts a guest for the berth's record and returns when it is usable. The berth is preparing and this thread
 * its owner. What is there after a failure berth_undo() takes away. *desktop is *owned*, also on failure:
 * berth_desktop_clear().
 */
int berth_boot(struct berth *berth, struct berth_desktop *desktop, struct error *err);

/* Closes the display, which nobody else knows of, and frees. An empty one is fine. */
void berth_desktop_clear(struct berth_desktop *desktop);
#define CLEANUP_DESKTOP CLEANUP(berth_desktop_clear)

/* What guests are made from: the verified image, and what the hypervisor has today. */
struct berth_source {
    struct image *image; /* owned */
    struct hypervisor_facts facts;
    char label[GUEST_LABEL_SIZE]; /* of the berth's QEMU; see guest_label() */
    bool own_uid;
};

/* ERROR_INELIGIBLE for the image, ERROR_HYPERVISOR. To be cleared either way. */
int berth_source_open(const struct berth *berth, struct berth_source *source, struct error *err);
void berth_source_clear(struct berth_source *source);
#define CLEANUP_SOURCE CLEANUP(berth_source_clear)

/* The domain of the berth's record, without source as far as the record alone says. Borrows from both. */
void berth_spec(const struct berth *berth, const struct berth_source *source, struct guest_spec *spec);

#endif
