/* The berth's golden state (image/golden.h): made of a guest that no tenant touched, and guests that start
 * from it. Private to lease/. */
#ifndef BERTHOS_LEASE_BERTH_GOLDEN_H
#define BERTHOS_LEASE_BERTH_GOLDEN_H

#include "lease/boot.h"

/* Whether it may be used for guests of this source and of the record's shape. ERROR_NOT_FOUND, or ERROR_IMAGE
 * with what differs. */
int berth_check_golden(const struct berth *berth, const struct berth_source *source, struct error *err);

/* Makes it of the berth's guest, which was booted from `image`, has settled, and goes with it. */
int berth_save_golden(struct berth *berth, const struct image *image, struct error *err);

/* Starts the record's guest from it; as berth_boot(). A golden state that fails is dropped. */
int berth_restore(struct berth *berth, struct berth_desktop *desktop, struct error *err);

/* Removes golden states that no berth will use. */
int leases_sweep_golden(struct leases *leases, struct error *err);

#endif
