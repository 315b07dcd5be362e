#include "display/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "display/picture.h"
#include "display/session.h"

struct picture *display_look(struct display *display, const struct picture_request *request,
                             struct cancel *cancel, struct error *err)
{
    (void)cancel;
    if (request->has_region || request->max_edge || request->settle_ms >= 0) {
        error_set(err, ERROR_BAD_REQUEST, "only whole pictures can be had");
        return NULL;
    }
    CLEANUP_FRAME struct display_frame *frame =
        display_capture(display, clock_deadline(request->timeout_ms), err);
    if (!frame)
        return NULL;
    struct picture *picture = calloc(1, sizeof *picture);
    if (!picture)
        abort();
    *picture = (struct picture){.references = 1,
                                .mime = request->format == PICTURE_JPEG ? "image/jpeg" : "image/png",
                                .width = frame->width,
                                .height = frame->height,
                                .frame_width = frame->width,
                                .frame_height = frame->height,
                                .scale = 1};
    snprintf(picture->etag, sizeof picture->etag, "\"%" PRIx64 "-%d-%d\"", frame->sequence, request->format,
             request->quality);
    picture->known = request->known_etag && strcmp(request->known_etag, picture->etag) == 0;
    int made = picture->known ? 0
               : request->format == PICTURE_JPEG
                   ? picture_jpeg(frame, request->quality, &picture->data, &picture->size, err)
                   : picture_png(frame, &picture->data, &picture->size, err);
    if (made < 0) {
        picture_release(picture);
        return NULL;
    }
    return picture;
}

void picture_release(struct picture *picture)
{
    if (!picture || __atomic_sub_fetch(&picture->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(picture->data);
    free(picture);
}

void display_changes(struct display *display, uint64_t since, struct display_changes *changes)
{
    (void)display;
    (void)since;
    *changes = (struct display_changes){.any = false};
}
