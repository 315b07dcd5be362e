#include "display/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sync.h"
#include "display/etag.h"

#define MAKERS_MAX 2

/* What is kept of the present frame at most: so many files, so many bytes of them (and one more). */
#define FILES_MAX   8
#define FILES_BYTES (8u << 20)

/* A caller that encodes a picture or waits for his turn; on his stack. */
struct maker {
    struct maker *next;
};

/* --- the list -------------------------------------------------------------------------------------- */

void pictures_open(struct pictures *pictures, struct session *session, struct picture_budget *all)
{
    pictures->budget = picture_budget_new(PICTURE_BUDGET_DISPLAY, all);
    sync_cond_init(&pictures->made);
    pictures->session = session;
    pictures->secret = etag_secret();
}

/* Drops the list's share in a file. */
static void drop_file(struct picture_file **link)
{
    struct picture_file *file = *link;
    *link = file->next;
    picture_file_release(file);
}

void pictures_close(struct pictures *pictures)
{
    while (pictures->files)
        drop_file(&pictures->files);
    pthread_cond_destroy(&pictures->made);
    free(pictures->secret);
    picture_budget_release(pictures->budget);
}

static void keep_file(struct pictures *pictures, struct picture_file *file)
{
    file->next = pictures->files;
    pictures->files = picture_file_share(file);
}

/* Drops what is of an older frame, and what was longest not asked for until the rest is within bounds. */
static void trim_files(struct pictures *pictures)
{
    uint64_t sequence = pictures->session->frame->sequence;
    size_t count = 0, bytes = 0;
    for (struct picture_file **link = &pictures->files; *link;) {
        struct picture_file *file = *link;
        if (file->sequence != sequence) {
            drop_file(link);
            continue;
        }
        bytes += file->size;
        if (count++ == 0 || (count <= FILES_MAX && bytes <= FILES_BYTES))
            link = &file->next;
        else
            drop_file(link);
    }
}

/* Finds the file of the present frame that is made by this plan, and puts it in front. One that failed may go
 * better another time. *Borrowed*. */
static struct picture_file *find_file(struct pictures *pictures, const struct picture_plan *plan)
{
    for (struct picture_file **link = &pictures->files; *link; link = &(*link)->next) {
        struct picture_file *file = *link;
        if (file->sequence != pictures->session->frame->sequence || file->state == PICTURE_FAILED ||
            memcmp(&file->plan, plan, sizeof *plan) != 0)
            continue;
        *link = file->next;
        file->next = pictures->files;
        pictures->files = file;
        return file;
    }
    return NULL;
}

const struct picture_file *pictures_find(struct pictures *pictures, const struct picture_plan *plan)
{
    const struct picture_file *file = pictures->session->frame ? find_file(pictures, plan) : NULL;
    return file && file->state != PICTURE_NAMING ? file : NULL;
}

/* --- naming and encoding: the mutex is held at the start and at the end, but not meanwhile ---------- */

/* Starts a file of the present frame and names it. *Owned*. */
static struct picture_file *name_file(struct pictures *pictures, const struct picture_plan *plan)
{
    struct picture_file *file = memory_new(sizeof *file);
    file->references = 1;
    file->sequence = pictures->session->frame->sequence;
    file->plan = *plan;
    struct frame *frame = frame_share(pictures->session->frame);
    keep_file(pictures, file);
    trim_files(pictures);
    pthread_mutex_unlock(&pictures->session->mutex);

    struct pixels pixels = picture_pixels(plan, frame);
    etag_of(pictures->secret, &pixels, plan, file->etag);
    frame_release(frame);

    pthread_mutex_lock(&pictures->session->mutex);
    file->state = PICTURE_NAMED;
    pthread_cond_broadcast(&pictures->made);
    return file;
}

/* Encodes a named file of the present frame. */
static void encode_file(struct pictures *pictures, struct picture_file *file)
{
    struct frame *frame = frame_share(pictures->session->frame);
    struct error err = ERROR_INIT;
    unsigned char *data = NULL;
    size_t size = 0;
    file->state = PICTURE_ENCODING;
    pthread_cond_broadcast(&pictures->made);
    pthread_mutex_unlock(&pictures->session->mutex);

    struct pixels pixels = picture_pixels(&file->plan, frame);
    int encoded =
        picture_budget_full(pictures->budget)
            ? error_set(
                  &err, ERROR_TOO_MANY,
                  "too many pictures are on their way to clients that do not take them; take those first")
            : picture_encode(&file->plan, &pixels, &data, &size, &err);
    frame_release(frame);

    pthread_mutex_lock(&pictures->session->mutex);
    file->state = encoded < 0 ? PICTURE_FAILED : PICTURE_DONE;
    file->err = err;
    picture_file_fill(file, data, size, pictures->budget);
    trim_files(pictures);
    pthread_cond_broadcast(&pictures->made);
}

/* --- turns ----------------------------------------------------------------------------------------- */

/* The link to a caller in the queue, or the last one. *before says how many are ahead of it. */
static struct maker **find_maker(struct pictures *pictures, const struct maker *maker, int *before)
{
    struct maker **link = &pictures->makers;
    for (*before = 0; *link && *link != maker; ++*before)
        link = &(*link)->next;
    return link;
}

/* Whether it is this caller's turn to encode a picture; he is put into the queue where he is not yet. */
static bool is_turn(struct pictures *pictures, struct maker *maker)
{
    int before;
    struct maker **link = find_maker(pictures, maker, &before);
    *link = maker;
    return before < MAKERS_MAX;
}

static void leave_queue(struct pictures *pictures, struct maker *maker)
{
    int before;
    struct maker **link = find_maker(pictures, maker, &before);
    if (!*link)
        return;
    *link = TAKE(maker->next);
    pthread_cond_broadcast(&pictures->made);
}

/* The file to go on with: the one at hand, as long as it is of use, else the present frame's. */
static struct picture_file *choose_file(struct pictures *pictures, struct picture_file *file,
                                        const struct picture_request *request, int64_t since_ms,
                                        struct cancel *cancel, int64_t deadline_ms, struct error *err)
{
    struct session *session = pictures->session;
    if (file && (file->state != PICTURE_NAMED || file->sequence == session->frame->sequence))
        return file;
    picture_file_release(file); /* nobody encodes it, and its pixels are gone */
    struct picture_plan plan;
    const struct frame *frame = session_frame(session, since_ms, cancel, deadline_ms, err);
    if (!frame || picture_plan_of(request, frame->width, frame->height, &plan, err) < 0)
        return NULL;
    file = find_file(pictures, &plan);
    return file ? picture_file_share(file) : name_file(pictures, &plan);
}

static int await_made(struct pictures *pictures, struct cancel *cancel, int64_t deadline_ms,
                      struct error *err)
{
    if (session_check_wanted(pictures->session, cancel, err) < 0)
        return -1;
    if (!sync_cond_wait(&pictures->made, &pictures->session->mutex, deadline_ms))
        return error_set(err, ERROR_TIMEOUT,
                         "the picture was not made by the deadline: the node has too many others to make");
    return 0;
}

/* Whether the file is what the caller came for. */
static bool is_wanted(const struct picture_file *file, const struct picture_request *request)
{
    return file->state == PICTURE_DONE || file->state == PICTURE_FAILED ||
           (file->state != PICTURE_NAMING && etag_matches(request->known_etag, file->etag));
}

struct picture_file *pictures_take(struct pictures *pictures, const struct picture_request *request,
                                   int64_t since_ms, struct cancel *cancel, int64_t deadline_ms,
                                   struct error *err)
{
    struct maker maker = {.next = NULL};
    struct picture_file *file = NULL;
    for (;;) {
        file = choose_file(pictures, file, request, since_ms, cancel, deadline_ms, err);
        if (!file || is_wanted(file, request))
            break;
        if (file->state != PICTURE_NAMED) {
            leave_queue(pictures, &maker); /* somebody else is at it */
        } else if (is_turn(pictures, &maker)) {
            encode_file(pictures, file);
            continue;
        }
        if (await_made(pictures, cancel, deadline_ms, err) < 0) {
            picture_file_release(TAKE(file));
            break;
        }
    }
    leave_queue(pictures, &maker);
    if (file && file->state == PICTURE_FAILED) {
        *err = file->err;
        picture_file_release(TAKE(file));
    }
    return file;
}
