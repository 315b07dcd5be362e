#include "display/screenshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "display/etag.h"
#include "display/shots.h"

/* What a picture may take after its time to settle is over. */
#define GRACE_MS 250

/* Waits for stillness where that is asked for, and says how fresh the picture must be. */
static int settle(struct display *display, const struct picture_request *request, struct cancel *cancel,
                  int64_t deadline_ms, bool *still, int64_t *since_ms, struct error *err)
{
    *still = false;
    if (request->settle_ms >= 0 &&
        watch_still(display, request->has_region ? &request->region : NULL, request->settle_ms, cancel,
                    deadline_ms, still, since_ms, err) < 0)
        return -1;
    if (!*still)
        *since_ms = clock_monotonic_ms() - FRESH_SLACK_MS;
    return 0;
}

/* The caller's view of a shot. */
static struct picture *print(const struct shot *shot, const struct picture_request *request, bool still)
{
    const struct way *way = &shot->way;
    struct picture *picture = calloc(1, sizeof *picture);
    if (!picture)
        abort();
    *picture = (struct picture){.mime = way->format == PICTURE_JPEG ? "image/jpeg" : "image/png",
                                .width = way->width,
                                .height = way->height,
                                .frame_width = way->frame_width,
                                .frame_height = way->frame_height,
                                .region = way->region,
                                .scale = (double)way->part / way->whole,
                                .still = still,
                                .known = etag_matches(request->known_etag, shot->etag)};
    memcpy(picture->etag, shot->etag, sizeof picture->etag);
    if (!picture->known) {
        picture->encoding = encoding_share(shot->encoding);
        picture->data = shot->encoding->data;
        picture->size = shot->encoding->size;
    }
    return picture;
}

/* Refuses a region outside the screen before anything is waited for. */
static int check_region(struct display *display, const struct picture_request *request, struct error *err)
{
    struct way ignored;
    LOCK_SCOPE(&display->mutex);
    return session_check(display, err) < 0 ? -1
                                           : way_of(request, display->width, display->height, &ignored, err);
}

static struct picture *look(struct display *display, const struct picture_request *request,
                            struct cancel *cancel, struct error *err)
{
    int64_t deadline_ms = clock_deadline(request->timeout_ms), since_ms;
    bool still;
    if (check_region(display, request, err) < 0 ||
        settle(display, request, cancel, deadline_ms, &still, &since_ms, err) < 0)
        return NULL;
    if (request->settle_ms >= 0 && clock_left_ms(deadline_ms) < GRACE_MS)
        deadline_ms = clock_deadline(GRACE_MS);
    LOCK_SCOPE(&display->mutex);
    struct shot *shot = shot_take(display, request, since_ms, cancel, deadline_ms, err);
    if (!shot)
        return NULL;
    struct picture *picture = print(shot, request, still);
    shot_drop(shot);
    return picture;
}

struct picture *display_screenshot(struct display *display, const struct picture_request *request,
                                   struct cancel *cancel, struct error *err)
{
    cancel_listen(cancel, session_stir, display);
    struct picture *picture = look(display, request, cancel, err);
    cancel_unlisten(cancel);
    return picture;
}

void picture_release(struct picture *picture)
{
    if (!picture)
        return;
    encoding_release(picture->encoding);
    free(picture);
}

void display_changes(struct display *display, uint64_t since, struct display_changes *changes)
{
    const struct picture_request whole = {.format = PICTURE_PNG};
    struct error ignored;
    struct way way;
    *changes = (struct display_changes){.any = false};
    LOCK_SCOPE(&display->mutex);
    changes->any = changes_since(&display->changes, since, NULL, &changes->region, &changes->last_ms);
    changes->region = region_clip(changes->region, display->width, display->height);
    if (!display->frame || display->frame->sequence != display->sequence ||
        way_of(&whole, display->frame->width, display->frame->height, &way, &ignored) < 0)
        return;
    const struct shot *shot = shot_find_named(display, &way);
    if (shot)
        memcpy(changes->etag, shot->etag, sizeof changes->etag);
}
