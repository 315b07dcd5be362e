#include "display/screenshot.h"

#include <string.h>

#include "base/clock.h"
#include "display/display_inside.h"
#include "display/etag.h"
#include "display/region.h"
#include "display/watch.h"

/* What a picture may take after its time to settle is over. */
#define GRACE_MS 250

/* Waits for stillness where that is asked for, and says how fresh the picture must be. */
static int settle_screen(struct session *session, const struct picture_request *request,
                         struct cancel *cancel, int64_t deadline_ms, bool *still, int64_t *since_ms,
                         struct error *err)
{
    *still = false;
    if (request->settle_ms >= 0 &&
        watch_still(session, request->has_region ? &request->region : NULL, request->settle_ms, cancel,
                    deadline_ms, still, since_ms, err) < 0)
        return -1;
    if (!*still)
        *since_ms = clock_monotonic_ms() - FRESH_SLACK_MS;
    return 0;
}

/* Refuses a region outside the screen before anything is waited for. */
static int check_region(struct session *session, const struct picture_request *request, struct error *err)
{
    struct picture_plan ignored;
    LOCK_SCOPE(&session->mutex);
    return session_check(session, err) < 0
               ? -1
               : picture_plan_of(request, session->width, session->height, &ignored, err);
}

static struct picture *take_picture(struct display *display, const struct picture_request *request,
                                    struct cancel *cancel, struct error *err)
{
    struct session *session = &display->session;
    int64_t deadline_ms = clock_deadline(request->timeout_ms), since_ms;
    bool still;
    if (check_region(session, request, err) < 0 ||
        settle_screen(session, request, cancel, deadline_ms, &still, &since_ms, err) < 0)
        return NULL;
    if (request->settle_ms >= 0 && clock_left_ms(deadline_ms) < GRACE_MS)
        deadline_ms = clock_deadline(GRACE_MS);
    LOCK_SCOPE(&session->mutex);
    struct picture_file *file =
        pictures_take(&display->pictures, request, since_ms, cancel, deadline_ms, err);
    if (!file)
        return NULL;
    struct picture *picture = picture_new(file, still, etag_matches(request->known_etag, file->etag));
    picture_file_release(file);
    return picture;
}

/* Wakes all who look, so that the one who has gone notices. */
static void wake_lookers(void *context)
{
    struct display *display = context;
    LOCK_SCOPE(&display->session.mutex);
    pthread_cond_broadcast(&display->session.changed);
    pthread_cond_broadcast(&display->pictures.made);
}

struct picture *display_screenshot(struct display *display, const struct picture_request *request,
                                   struct cancel *cancel, struct error *err)
{
    cancel_listen(cancel, wake_lookers, display);
    struct picture *picture = take_picture(display, request, cancel, err);
    cancel_unlisten(cancel);
    return picture;
}

void display_changes(struct display *display, uint64_t since, struct display_changes *changes)
{
    const struct picture_request whole = {.format = PICTURE_PNG};
    const struct session *session = &display->session;
    struct error ignored;
    struct picture_plan plan;
    *changes = (struct display_changes){.any = false};
    LOCK_SCOPE(&display->session.mutex);
    changes->any = changes_since(&session->changes, since, NULL, &changes->region, &changes->last_ms);
    changes->region = region_clip(changes->region, session->width, session->height);
    if (!session->frame || session->frame->sequence != session->sequence ||
        picture_plan_of(&whole, session->frame->width, session->frame->height, &plan, &ignored) < 0)
        return;
    const struct picture_file *file = pictures_find(&display->pictures, &plan);
    if (file)
        memcpy(changes->etag, file->etag, sizeof changes->etag);
}
