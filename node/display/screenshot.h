/*
 * Looking: pictures of a session's screen for people, models and browsers, and what changed on it.
 *
 * Callers that want the same picture of the same pixels share one encode. The pixels are named by a keyed
 * digest, so equal pixels have equal names for the life of the session and nobody outside can make two that
 * collide.
 */
#ifndef BERTHOS_DISPLAY_SCREENSHOT_H
#define BERTHOS_DISPLAY_SCREENSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "display/display.h"

enum picture_format { PICTURE_PNG, PICTURE_JPEG };

#define PICTURE_QUALITY_DEFAULT 80
#define PICTURE_ETAG_SIZE       64

struct picture_request {
    enum picture_format format;
    int quality; /* JPEG, 1..100 */
    bool has_region;
    struct action_region region; /* pixels of the screen; one that leaves it is ERROR_BAD_REQUEST */
    uint32_t max_edge; /* the longer edge of the picture at most, pixels; 0: as large as the screen */
    int64_t settle_ms; /* first wait until the screen (the region) has been still this long, and so long after
                          the last input; -1: do not */
    int64_t timeout_ms;     /* how long all of it may take */
    const char *known_etag; /* an If-None-Match header, or NULL; borrowed */
};

/* A finished picture. */
struct picture {
    const char *mime;                   /* static */
    uint32_t width, height;             /* of the picture, pixels */
    uint32_t frame_width, frame_height; /* of the screen it shows, pixels */
    struct action_region region;        /* which part of the screen it shows */
    double scale;                       /* picture pixels per screen pixel; at most 1 */
    char etag[PICTURE_ETAG_SIZE];       /* RFC 9110 section 8.8.3, strong, with its quotes */
    bool still;                         /* with settle_ms: it was still in time */
    bool known;                         /* known_etag names it: there is no data */
    const unsigned char *data;          /* the file; borrowed until picture_release() */
    size_t size;                        /* bytes */
    struct encoding *encoding;          /* private to display/: what pictures of the same bytes share */
};

/*
 * A picture that shows everything the guest had drawn 100 ms before the call (with settle_ms: at its end). A
 * screen that does not become still in time gives the picture as it is, with still = false. cancel may be
 * NULL. NULL with ERROR_BAD_REQUEST, ERROR_CANCELLED, ERROR_GUEST_FAILED, ERROR_NOT_FOUND or ERROR_INTERNAL.
 * *Owned*: picture_release().
 */
struct picture *display_screenshot(struct display *display, const struct picture_request *request,
                                   struct cancel *cancel, struct error *err);
void picture_release(struct picture *picture);
CLEANUP_DEFINE(picture, struct picture *, picture_release);
#define CLEANUP_PICTURE CLEANUP(cleanup_picture)

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
