/*
 * The pictures that are being made or were made of the present frame, so that callers who want the same one
 * share it. Private to display/. The session's mutex is held at all calls but the first and the last.
 *
 * A file is first named (etag.h) and then, if somebody wants its bytes and not only its name, encoded. Both
 * happen once, on the thread of the first caller that needs them, without the lock; the others wait for it.
 * At most MAKERS_MAX are encoded at a time, and who waits for a turn holds no frame, so that any number of
 * callers costs a bounded number of frames. A caller's turn comes in the order of arrival; who comes to his
 * turn late makes the picture of the frame that is present then, which is no older than what he asked for.
 */
#ifndef BERTHOS_DISPLAY_PICTURES_H
#define BERTHOS_DISPLAY_PICTURES_H

#include "display/picture.h"
#include "display/picture_budget.h"
#include "display/session.h"

/* Part of struct display; the session's mutex guards all but what is set at opening. */
struct pictures {
    struct session *session;       /* set at opening; borrowed */
    struct picture_budget *budget; /* of the finished ones; set at opening; owned */
    unsigned char *secret;         /* set at opening; keys the names; owned */
    pthread_cond_t made;           /* something about files or makers has changed */
    struct picture_file *files;    /* of the present frame, the last used first */
    struct maker *makers;          /* who encodes one now, and who waits to, in order */
};

void pictures_open(struct pictures *pictures, struct session *session, struct picture_budget *all);
void pictures_close(struct pictures *pictures);

/*
 * The file of what the request asks for that shows everything drawn before since_ms. It is PICTURE_DONE, or
 * only named when the request's known_etag names it. The mutex is let go meanwhile. *Owned*:
 * picture_file_release(). NULL with an error as display_screenshot().
 */
struct picture_file *pictures_take(struct pictures *pictures, const struct picture_request *request,
                                   int64_t since_ms, struct cancel *cancel, int64_t deadline_ms,
                                   struct error *err);

/* The file of the present frame that is made by this plan and named, or NULL. *Borrowed*. */
const struct picture_file *pictures_find(struct pictures *pictures, const struct picture_plan *plan);

#endif
