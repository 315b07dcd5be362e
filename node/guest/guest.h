/* A guest that runs: its state, its display's descriptor, its process, and its end. */
#ifndef BERTHOS_GUEST_GUEST_H
#define BERTHOS_GUEST_GUEST_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "guest/handle.h"

/* A QEMU that hangs takes libvirt 10 s of asking before it kills, so destroying is given twice that. */
#define GUEST_DESTROY_MS 20000

/*
 * Destroys the guest and returns when libvirt no longer knows it; one that is gone is fine.
 * -1 with ERROR_ENDING when it is still there at the deadline: call again.
 */
int guest_destroy(const struct guest *guest, int64_t timeout_ms, struct error *err);

enum guest_state { GUEST_GONE, GUEST_RUNNING, GUEST_PAUSED, GUEST_PAUSED_IO_ERROR, GUEST_STOPPED };

/* What libvirt says of the guest; GUEST_GONE also where another has its UUID by now. */
int guest_state(const struct guest *guest, int64_t timeout_ms, enum guest_state *state, struct error *err);

/* Stops the guest's vCPUs, or lets them go on; one that stands or runs already is fine. ERROR_GUEST_FAILED.
 */
int guest_pause(const struct guest *guest, int64_t timeout_ms, struct error *err);
int guest_resume(const struct guest *guest, int64_t timeout_ms, struct error *err);

/* How much CPU time QEMU has used for the guest since its start, microseconds. */
int guest_cpu_time(const struct guest *guest, int64_t timeout_ms, int64_t *cpu_us, struct error *err);

/*
 * A descriptor of its own for the guest's VNC server (virDomainOpenGraphicsFD with SKIPAUTH): nothing listens
 * on an address. The descriptor is *owned* by the caller. -1 with ERROR_GUEST_FAILED or ERROR_HYPERVISOR.
 */
int guest_open_display(const struct guest *guest, int64_t timeout_ms, struct error *err);

/*
 * The pid of the domain's QEMU; 0 when it cannot be told. It is the process with this UUID in its arguments
 * that is of a user whom a guest's QEMU runs as (guest_peers()) and, where we may see that, runs a QEMU.
 */
pid_t guest_process(const char *uuid);

#endif
