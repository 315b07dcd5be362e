/*
 * The viewers of one view: how many there may be, and how each is told to go. Private to view/.
 */
#ifndef BERTHOS_VIEW_AUDIENCE_H
#define BERTHOS_VIEW_AUDIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"
#include "view/frames.h"

struct audience; /* opaque */

/* A viewer's place. Its members belong to audience.c, but for wake_fd, which may be polled. */
struct seat {
    int wake_fd; /* eventfd: readable once the viewer is told to go */
    int socket;  /* of the viewer's connection, open while it has the seat; borrowed */
    struct audience *audience;
    struct seat *next;
    char grant[DIGEST_HEX_SIZE]; /* whom the viewer came by */
    bool taken;                  /* counts among those there may be */
    enum close_code told;        /* CLOSE_NONE: to stay */
    const char *reason;          /* static */
};

/* *Owned*: audience_free(), when nobody is left. Never NULL. */
struct audience *audience_new(void);
void audience_free(struct audience *audience);
CLEANUP_DEFINE(audience, struct audience *, audience_free);

/* Takes a place. socket: of the connection that the viewer came on. ERROR_TOO_MANY, or ERROR_NOT_FOUND once
 * everybody was told to go, or ERROR_INTERNAL. */
int audience_join(struct audience *audience, struct seat *seat, const char *grant, int socket,
                  struct error *err);

/* Makes the place free for another; the viewer itself is still there. */
void audience_vacate(struct seat *seat);

/* The viewer is gone; vacates too. */
void audience_leave(struct seat *seat);

/* How many places are taken. */
size_t audience_count(struct audience *audience);

/* Tells the viewers that came by a grant to go; with NULL all of them, and nobody may join any more. */
void audience_dismiss(struct audience *audience, const char *grant, enum close_code code, const char *reason);

/* What the viewer was told, with the reason in *reason; CLOSE_NONE when it may stay. */
enum close_code audience_told(struct seat *seat, const char **reason);

/*
 * Waits until every viewer has left: until the deadline (clock.h) on good terms, then they are cut off. Also
 * one that has not even read that it is let in.
 */
void audience_drain(struct audience *audience, int64_t deadline_ms);

#endif
