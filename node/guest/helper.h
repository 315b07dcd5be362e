/*
 * The program inside the guest that enters what VNC cannot carry (docs/IMAGE.md): text beyond ASCII, long
 * text fast, the horizontal wheel, the side buttons. It is run through the guest agent, so each call costs
 * some tens of milliseconds, and only images whose manifest says `input_helper` have it.
 *
 * When a call succeeds, the guest's X server has all of its input: whatever is sent to the guest afterwards
 * comes after it. The guest is the tenant's: what the helper says is untrusted, bounded, and at worst wrong.
 */
#ifndef BERTHOS_GUEST_HELPER_H
#define BERTHOS_GUEST_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/handle.h"
#include "guest/helper_run.h"

enum { HELPER_TEXT_MAX_BYTES = 65536 };

/* Buttons that QEMU's VNC does not have. */
enum helper_button { HELPER_BACK, HELPER_FORWARD };

/*
 * Enters `size` bytes of UTF-8 (borrowed, 1..HELPER_TEXT_MAX_BYTES) where the keyboard's focus is in the
 * guest; newline and tab as the keys Return and Tab. cancelled (may be NULL) and the deadline
 * (clock.h) make the helper stop and lift what it holds.
 *
 * *typed: characters (code points) that were entered, also on failure.
 * 0, or -1 with ERROR_UNTYPABLE (nothing that takes this text has the focus; *typed may be above 0),
 * ERROR_BAD_REQUEST (size), ERROR_TIMEOUT (given up: the deadline or cancelled), ERROR_GUEST_FAILED (the
 * agent or the helper does not answer sensibly), ERROR_HYPERVISOR.
 */
int guest_helper_type(const struct guest *guest, const char *text, size_t size, helper_cancelled *cancelled,
                      void *context, int64_t deadline_ms, size_t *typed, struct error *err);

/*
 * Moves the pointer to x, y (pixels) and clicks there `count` (1..3) times. Errors as above.
 *
 * This and guest_helper_scroll() move the pointer of the guest's X server, not QEMU's tablet: the caller
 * moves that there first, or the tablet's next position, if it is where the tablet still is, is no event for
 * the guest.
 */
int guest_helper_click(const struct guest *guest, uint32_t x, uint32_t y, enum helper_button button,
                       int count, int64_t deadline_ms, struct error *err);

/* Moves the pointer to x, y (pixels) and turns the wheel by dx notches (-100..100, right is positive). */
int guest_helper_scroll(const struct guest *guest, uint32_t x, uint32_t y, int dx, int64_t deadline_ms,
                        struct error *err);

/*
 * Has a guest that was restored from a saved state become one of its own: what its running programs would
 * draw random numbers from is seeded anew, and its machine id is another. Errors as above; then it is not to
 * be used.
 */
int guest_helper_renew(const struct guest *guest, int64_t deadline_ms, struct error *err);

#endif
