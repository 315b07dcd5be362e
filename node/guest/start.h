/*
 * How a guest comes to run: a transient domain, started with VALIDATE or restored, and inspected before
 * anybody uses it.
 */
#ifndef BERTHOS_GUEST_START_H
#define BERTHOS_GUEST_START_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/handle.h"
#include "guest/spec.h"

/*
 * Starts the domain of `spec` (paused: with its vCPUs stopped), reads its live XML back and inspects it. When
 * the inspection finds a difference the domain is destroyed. guest: its uuid is spec's; its run is noted. 0,
 * or -1 with ERROR_GUEST_FAILED or ERROR_HYPERVISOR, and nothing is left running.
 */
int guest_start(struct guest *guest, const struct guest_spec *spec, bool paused, int64_t timeout_ms,
                struct error *err);

/*
 * Runs the guest of a saved state: as guest_start() but from `file` (of guest_save()), which it leaves as it
 * is. spec: as for guest_start(); name, uuid, shape, image and host must be those of the save, while overlay,
 * golden, base, console_log, lease_id and qemu_label are this guest's. What the state says about its domain
 * is inspected before anything runs, and the live domain again. 0, or -1 with ERROR_GUEST_FAILED or
 * ERROR_HYPERVISOR, and nothing is left running.
 */
int guest_restore(struct guest *guest, const struct guest_spec *spec, const char *file, int64_t timeout_ms,
                  struct error *err);

#endif
