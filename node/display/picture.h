/*
 * Pictures: what is encoded of a frame and handed out, as PNG and JPEG files in memory. Equal pixels shown in
 * the same way have equal names (etag.h) for the life of a session.
 */
#ifndef BERTHOS_DISPLAY_PICTURE_H
#define BERTHOS_DISPLAY_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "display/picture_budget.h"
#include "display/pixels.h"
#include "protocol/action.h"

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
    struct picture_file *file;          /* private to display/: what pictures of the same bytes share */
};

void picture_release(struct picture *picture);
CLEANUP_DEFINE(picture, struct picture *, picture_release);
#define CLEANUP_PICTURE CLEANUP(cleanup_picture)

/* --- private to display/ --- */

/* How a picture is made of a frame. Without holes: it is compared and hashed as bytes. */
struct picture_plan {
    int32_t format, quality; /* quality is 0 for PNG */
    struct action_region region;
    uint32_t frame_width, frame_height;
    uint32_t width, height, part, whole; /* as struct scaling */
};

enum picture_state { PICTURE_NAMING, PICTURE_NAMED, PICTURE_ENCODING, PICTURE_DONE, PICTURE_FAILED };

/* The file of a picture, made or in the making, shared by reference count. Who has no part in pictures.c may
 * read it once it is done. */
struct picture_file {
    struct picture_file *next; /* of pictures.c */
    int references;
    uint64_t sequence; /* of the pixels */
    struct picture_plan plan;
    enum picture_state state;
    char etag[PICTURE_ETAG_SIZE]; /* once named */
    unsigned char *data;          /* once done; owned */
    size_t size;
    struct picture_budget *budget; /* that the data counts in; owned */
    struct error err;              /* when failed */
};

/* Decides for a frame of a size how the picture is made that a request asks for. ERROR_BAD_REQUEST. */
int picture_plan_of(const struct picture_request *request, uint32_t frame_width, uint32_t frame_height,
                    struct picture_plan *plan, struct error *err);

/* The pixels of a frame that a plan shows. *Borrowed* from the frame. */
struct frame;
struct pixels picture_pixels(const struct picture_plan *plan, const struct frame *frame);

/* Makes the file: these pixels, smaller where the plan says so, encoded. *data is *owned*: free(). -1 with
 * ERROR_INTERNAL. */
int picture_encode(const struct picture_plan *plan, const struct pixels *pixels, unsigned char **data,
                   size_t *size, struct error *err);

/* Encodes as PNG (ISO/IEC 15948), 8-bit RGB. As picture_encode(). */
int picture_png(const struct pixels *pixels, unsigned char **data, size_t *size, struct error *err);

/* Encodes as JPEG with quality 1..100. As picture_encode(). */
int picture_jpeg(const struct pixels *pixels, int quality, unsigned char **data, size_t *size,
                 struct error *err);

/* A caller's picture of a named file, with its bytes unless they are known to him. *Owned*. */
struct picture *picture_new(struct picture_file *file, bool still, bool known);

/* The file is made: its bytes, which are taken over, count in a budget until the last reference goes. */
void picture_file_fill(struct picture_file *file, unsigned char *data, size_t size,
                       struct picture_budget *budget);

/* Another reference, and one less; the file may be NULL then. */
struct picture_file *picture_file_share(struct picture_file *file);
void picture_file_release(struct picture_file *file);

#endif
