#include "display/shots.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "display/etag.h"
#include "display/picture.h"
#include "display/scale.h"

/* A caller that makes a picture or waits for his turn; on his stack. */
struct maker {
    struct maker *next;
    bool queued;
};

struct encoding *encoding_share(struct encoding *encoding)
{
    __atomic_add_fetch(&encoding->references, 1, __ATOMIC_RELAXED);
    return encoding;
}

void encoding_release(struct encoding *encoding)
{
    if (!encoding || __atomic_sub_fetch(&encoding->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(encoding->data);
    free(encoding);
}

int way_of(const struct picture_request *request, uint32_t frame_width, uint32_t frame_height,
           struct way *way, struct error *err)
{
    struct action_region region = {0, 0, (int32_t)frame_width, (int32_t)frame_height};
    if (request->has_region) {
        region = request->region;
        if (region.x < 0 || region.y < 0 || region.width <= 0 || region.height <= 0 ||
            (int64_t)region.x + region.width > frame_width ||
            (int64_t)region.y + region.height > frame_height)
            return error_set(err, ERROR_BAD_REQUEST,
                             "the region [%d, %d, %d, %d] is not inside the screen, which is %ux%u: x + "
                             "width is at most %u, y + height at most %u",
                             region.x, region.y, region.width, region.height, frame_width, frame_height,
                             frame_width, frame_height);
    }
    struct scaling scaling = scaling_of((uint32_t)region.width, (uint32_t)region.height, request->max_edge);
    *way = (struct way){.format = (int32_t)request->format,
                        .quality = request->format == PICTURE_JPEG ? request->quality : 0,
                        .region = region,
                        .frame_width = frame_width,
                        .frame_height = frame_height,
                        .width = scaling.width,
                        .height = scaling.height,
                        .part = scaling.part,
                        .whole = scaling.whole};
    return 0;
}

/* --- the list -------------------------------------------------------------------------------------- */

void shots_open(struct display *display)
{
    sync_cond_init(&display->developed);
    display->secret = etag_secret();
}

void shots_close(struct display *display)
{
    shots_forget(display);
    pthread_cond_destroy(&display->developed);
    free(display->secret);
}

void shots_forget(struct display *display)
{
    while (display->shots) {
        struct shot *shot = display->shots;
        display->shots = shot->next;
        shot_drop(shot);
    }
}

void shot_drop(struct shot *shot)
{
    if (!shot || --shot->references > 0)
        return;
    encoding_release(shot->encoding);
    free(shot);
}

static void keep(struct display *display, struct shot *shot)
{
    shot->next = display->shots;
    display->shots = shot;
    shot->references++;
}

/* Drops the shots that were longest not asked for until what is left is within bounds. */
static void trim(struct display *display)
{
    size_t count = 0, bytes = 0;
    for (struct shot **link = &display->shots; *link;) {
        struct shot *shot = *link;
        bytes += shot->encoding ? shot->encoding->size : 0;
        if (count++ == 0 || (count <= SHOTS_MAX && bytes <= SHOTS_BYTES)) {
            link = &shot->next;
            continue;
        }
        *link = shot->next;
        shot_drop(shot);
    }
}

/* Finds the shot of the present frame that is made this way, and puts it in front. One that failed may go
 * better another time. *Borrowed*. */
static struct shot *find(struct display *display, const struct way *way)
{
    for (struct shot **link = &display->shots; *link; link = &(*link)->next) {
        struct shot *shot = *link;
        if (shot->sequence != display->frame->sequence || shot->state == SHOT_FAILED ||
            memcmp(&shot->way, way, sizeof *way) != 0)
            continue;
        *link = shot->next;
        shot->next = display->shots;
        display->shots = shot;
        return shot;
    }
    return NULL;
}

const struct shot *shot_find_named(struct display *display, const struct way *way)
{
    const struct shot *shot = display->frame ? find(display, way) : NULL;
    return shot && shot->state != SHOT_NAMING ? shot : NULL;
}

/* --- naming and developing: the mutex is held at the start and at the end, but not meanwhile -------- */

static struct pixels part_of(const struct frame *frame, const struct action_region *region)
{
    return (struct pixels){frame->pixels + (size_t)region->y * frame->width + region->x,
                           (uint32_t)region->width, (uint32_t)region->height, frame->width};
}

/* Starts a shot of the present frame and names it. *Owned*. */
static struct shot *name_new(struct display *display, const struct way *way)
{
    struct shot *shot = calloc(1, sizeof *shot);
    if (!shot)
        abort();
    *shot = (struct shot){
        .references = 1, .sequence = display->frame->sequence, .way = *way, .state = SHOT_NAMING};
    struct frame *frame = frame_share(display->frame);
    keep(display, shot);
    trim(display);
    pthread_mutex_unlock(&display->mutex);

    struct pixels pixels = part_of(frame, &way->region);
    etag_of(display->secret, &pixels, way, sizeof *way, shot->etag);
    frame_release(frame);

    pthread_mutex_lock(&display->mutex);
    shot->state = SHOT_NAMED;
    pthread_cond_broadcast(&display->developed);
    return shot;
}

static int encode(const struct way *way, const struct pixels *pixels, struct encoding *encoding,
                  struct error *err)
{
    return way->format == PICTURE_JPEG
               ? picture_jpeg(pixels, way->quality, &encoding->data, &encoding->size, err)
               : picture_png(pixels, &encoding->data, &encoding->size, err);
}

static int make(const struct way *way, const struct frame *frame, struct encoding *encoding,
                struct error *err)
{
    struct pixels pixels = part_of(frame, &way->region);
    if (way->part == way->whole)
        return encode(way, &pixels, encoding, err);
    struct scaling scaling = {way->width, way->height, way->part, way->whole};
    CLEANUP_FREE uint32_t *smaller = calloc((size_t)way->width * way->height, sizeof *smaller);
    if (!smaller || scale_down(&pixels, &scaling, smaller) < 0)
        return error_set(err, ERROR_INTERNAL, "cannot make the picture smaller: no memory is left");
    struct pixels scaled = {smaller, way->width, way->height, way->width};
    return encode(way, &scaled, encoding, err);
}

/* Makes the file of a named shot of the present frame. */
static void develop(struct display *display, struct shot *shot)
{
    struct encoding *encoding = calloc(1, sizeof *encoding);
    if (!encoding)
        abort();
    encoding->references = 1;
    struct frame *frame = frame_share(display->frame);
    struct error err = ERROR_INIT;
    shot->state = SHOT_DEVELOPING;
    pthread_cond_broadcast(&display->developed);
    pthread_mutex_unlock(&display->mutex);

    int made = make(&shot->way, frame, encoding, &err);
    frame_release(frame);

    pthread_mutex_lock(&display->mutex);
    shot->state = made < 0 ? SHOT_FAILED : SHOT_DONE;
    if (made < 0) {
        shot->err = err;
        encoding_release(encoding);
    } else {
        shot->encoding = encoding;
        trim(display);
    }
    pthread_cond_broadcast(&display->developed);
}

/* --- turns ----------------------------------------------------------------------------------------- */

/* Whether it is this caller's turn to make a picture; he is put into the queue where he is not yet. */
static bool my_turn(struct display *display, struct maker *maker)
{
    struct maker **link = &display->makers;
    int before = 0;
    if (!maker->queued) {
        while (*link) {
            link = &(*link)->next;
            before++;
        }
        maker->queued = true;
        maker->next = NULL;
        *link = maker;
        return before < MAKERS_MAX;
    }
    for (const struct maker *at = display->makers; at != maker; at = at->next)
        before++;
    return before < MAKERS_MAX;
}

static void leave_queue(struct display *display, struct maker *maker)
{
    if (!maker->queued)
        return;
    struct maker **link = &display->makers;
    while (*link != maker)
        link = &(*link)->next;
    *link = maker->next;
    maker->queued = false;
    pthread_cond_broadcast(&display->developed);
}

/* The shot to go on with: the one at hand, as long as it is of use, else the present frame's. */
static struct shot *choose(struct display *display, struct shot *shot, const struct picture_request *request,
                           int64_t since_ms, struct cancel *cancel, int64_t deadline_ms, struct error *err)
{
    if (shot && (shot->state != SHOT_NAMED || shot->sequence == display->frame->sequence))
        return shot;
    shot_drop(shot); /* nobody develops it, and its pixels are gone */
    struct way way;
    const struct frame *frame = session_frame(display, since_ms, cancel, deadline_ms, err);
    if (!frame || way_of(request, frame->width, frame->height, &way, err) < 0)
        return NULL;
    shot = find(display, &way);
    if (!shot)
        return name_new(display, &way);
    shot->references++;
    return shot;
}

static int await_developed(struct display *display, struct cancel *cancel, int64_t deadline_ms,
                           struct error *err)
{
    if (session_check(display, err) < 0 || session_cancelled(cancel, err))
        return -1;
    if (!sync_cond_wait(&display->developed, &display->mutex, deadline_ms))
        return error_set(err, ERROR_TIMEOUT,
                         "the picture was not made by the deadline: the node has too many others to make");
    return 0;
}

/* Whether the shot is what the caller came for. */
static bool is_wanted(const struct shot *shot, const struct picture_request *request)
{
    return shot->state == SHOT_DONE || shot->state == SHOT_FAILED ||
           (shot->state != SHOT_NAMING && etag_matches(request->known_etag, shot->etag));
}

struct shot *shot_take(struct display *display, const struct picture_request *request, int64_t since_ms,
                       struct cancel *cancel, int64_t deadline_ms, struct error *err)
{
    struct maker maker = {.queued = false};
    struct shot *shot = NULL;
    for (;;) {
        shot = choose(display, shot, request, since_ms, cancel, deadline_ms, err);
        if (!shot || is_wanted(shot, request))
            break;
        if (shot->state != SHOT_NAMED) {
            leave_queue(display, &maker); /* somebody else is at it */
        } else if (my_turn(display, &maker)) {
            develop(display, shot);
            continue;
        }
        if (await_developed(display, cancel, deadline_ms, err) < 0) {
            shot_drop(shot);
            shot = NULL;
            break;
        }
    }
    leave_queue(display, &maker);
    if (shot && shot->state == SHOT_FAILED) {
        *err = shot->err;
        shot_drop(shot);
        return NULL;
    }
    return shot;
}
