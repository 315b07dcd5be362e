/*
 * Shots: the pictures that are being made or were made of the present frame, so that callers who want the
 * same one share it. Private to display/.
 *
 * A shot is first named (etag.h) and then, if somebody wants its bytes and not only its name, developed. Both
 * happen once, on the thread of the first caller that needs them, without the lock; the others wait for it.
 * At most MAKERS_MAX are developed at a time, and who waits for a turn holds no frame, so that any number of
 * callers costs a bounded number of frames. A caller's turn comes in the order of arrival; who comes to his
 * turn late makes the picture of the frame that is present then, which is no older than what he asked for.
 */
#ifndef BERTHOS_DISPLAY_SHOTS_H
#define BERTHOS_DISPLAY_SHOTS_H

#include "display/screenshot.h"
#include "display/session.h"

#define MAKERS_MAX 2

/* What is kept of the present frame at most: so many shots, so many bytes of files (and one more). */
#define SHOTS_MAX   8
#define SHOTS_BYTES (8u << 20)

/* How a picture is made of a frame. Without holes: it is compared and hashed as bytes. */
struct way {
    int32_t format, quality; /* quality is 0 for PNG */
    struct action_region region;
    uint32_t frame_width, frame_height;
    uint32_t width, height, part, whole; /* as struct scaling */
};

/* The bytes of a file, shared by reference count. */
struct encoding {
    int references;
    unsigned char *data; /* owned */
    size_t size;
};

enum shot_state { SHOT_NAMING, SHOT_NAMED, SHOT_DEVELOPING, SHOT_DONE, SHOT_FAILED };

struct shot {
    struct shot *next;
    int references;    /* of the list and of callers; under the mutex */
    uint64_t sequence; /* of the pixels */
    struct way way;
    enum shot_state state;
    char etag[PICTURE_ETAG_SIZE]; /* once named */
    struct encoding *encoding;    /* once done */
    struct error err;             /* when failed */
};

/* Decides for a frame of a size how the picture is made that a request asks for. ERROR_BAD_REQUEST. */
int way_of(const struct picture_request *request, uint32_t frame_width, uint32_t frame_height,
           struct way *way, struct error *err);

/*
 * A shot of what the request asks for that shows everything drawn before since_ms. It is SHOT_DONE, or only
 * named when the request's known_etag names it. The mutex is held, but let go meanwhile. *Owned*:
 * shot_drop(). NULL with an error as display_screenshot().
 */
struct shot *shot_take(struct display *display, const struct picture_request *request, int64_t since_ms,
                       struct cancel *cancel, int64_t deadline_ms, struct error *err);

/* The mutex is held. */
void shot_drop(struct shot *shot);

/* The one of the present frame that is made this way and named, or NULL. The mutex is held. *Borrowed*. */
const struct shot *shot_find_named(struct display *display, const struct way *way);

struct encoding *encoding_share(struct encoding *encoding);
void encoding_release(struct encoding *encoding);

#endif
