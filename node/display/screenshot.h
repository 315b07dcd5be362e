/* Looking at a display: screenshots for people, models and browsers, and what changed on the screen. */
#ifndef BERTHOS_DISPLAY_SCREENSHOT_H
#define BERTHOS_DISPLAY_SCREENSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "display/picture.h"

struct display;

/*
 * A picture that shows everything the guest had drawn 100 ms before the call (with settle_ms: at its end). A
 * screen that does not become still in time gives the picture as it is, with still = false. Callers that want
 * the same picture of the same pixels share one encode. cancel may be NULL. NULL with ERROR_BAD_REQUEST,
 * ERROR_CANCELLED, ERROR_GUEST_FAILED, ERROR_NOT_FOUND or ERROR_INTERNAL. *Owned*: picture_release().
 */
struct picture *display_screenshot(struct display *display, const struct picture_request *request,
                                   struct cancel *cancel, struct error *err);

/* What changed on the screen between two moments, from the update rectangles. */
struct display_changes {
    bool any;
    struct action_region region;  /* the smallest rectangle around all changes, pixels */
    int64_t last_ms;              /* monotonic: when the last one was seen */
    char etag[PICTURE_ETAG_SIZE]; /* of the whole screen as PNG now; "" when that is not known without work */
};

/* What changed since the pixels had this sequence number (display_outcome.sequence), as far as is seen by
 * now. */
void display_changes(struct display *display, uint64_t since, struct display_changes *changes);

#endif
