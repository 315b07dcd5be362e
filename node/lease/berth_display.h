/*
 * The display of a berth's guest while it is leased: who uses it, opening it again when its session is lost
 * while the lease lives, and what it reaches in the guest beside keyboard and pointer.
 */
#ifndef BERTHOS_LEASE_BERTH_DISPLAY_H
#define BERTHOS_LEASE_BERTH_DISPLAY_H

#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "display/act.h"
#include "guest/guest.h"
#include "pairing/pairing.h"

struct berth;
struct leases;

/* A picture of the lease's screen; see display_screenshot(). *Owned*: picture_release(). */
struct picture *leases_screenshot(struct leases *leases, const char *id, const struct pairing_grant *grant,
                                  const struct picture_request *request, struct cancel *cancel,
                                  struct error *err);

/* Performs actions on the lease's guest; see display_act(). *acted is untouched where there is no such lease.
 */
int leases_act(struct leases *leases, const char *id, const struct pairing_grant *grant,
               const struct display_act *act, struct cancel *cancel, struct display_acted *acted,
               struct error *err);

/* --- for lease/ alone ------------------------------------------------------------------------------ */

/* Opens a session with the display of the berth's guest. *Owned*: display_close(). */
struct display *berth_open_display(struct berth *berth, int64_t deadline_ms, struct error *err);

/* The display's users are woken and waited for; then nobody else can reach it, and it is closed. */
void berth_close_display(struct berth *berth);

/* The guest's CPUs stand (why: static) or run again (NULL): tells its display, and /v1/node. */
void berth_set_paused(struct berth *berth, const char *why);

/* The same by what libvirt says of the guest. */
void berth_note_state(struct berth *berth, enum guest_state state);

#endif
