/*
 * A bounded memory of what has changed on a screen: which rectangle, when, and at which sequence number of
 * the pixels. Nothing is forgotten; what is old is remembered more coarsely. Private to display/, guarded by
 * its owner.
 */
#ifndef BERTHOS_DISPLAY_CHANGES_H
#define BERTHOS_DISPLAY_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/action.h"

#define CHANGES_MAX 256

/* One rectangle, or several that were merged. */
struct change {
    uint64_t sequence; /* that the pixels had after it; of several, the last */
    int64_t time_ms;   /* monotonic, when it was seen; of several, the last */
    struct action_region region;
};

struct changes {
    struct change list[CHANGES_MAX]; /* a ring, oldest first from `start` */
    size_t start, count;
};

/* Adds a change whose sequence number is that of the last one or more. */
void changes_add(struct changes *changes, uint64_t sequence, int64_t time_ms, struct action_region region);

/*
 * What has changed since the pixels had a sequence number, of that what touches `within` (NULL: anything).
 * Returns whether anything did; *region is then the smallest rectangle around it and *last_ms the time of the
 * last. Both may be NULL.
 */
bool changes_since(const struct changes *changes, uint64_t since, const struct action_region *within,
                   struct action_region *region, int64_t *last_ms);

#endif
