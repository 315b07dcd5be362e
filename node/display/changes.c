#include "display/changes.h"

#include "display/region.h"

static struct change *change_at(struct changes *changes, size_t i)
{
    return &changes->list[(changes->start + i) % CHANGES_MAX];
}

void changes_add(struct changes *changes, uint64_t sequence, int64_t time_ms, struct action_region region)
{
    if (changes->count == CHANGES_MAX) {
        /* The second takes the first in: it may then tell of more than there was, never of less. */
        const struct change *first = change_at(changes, 0);
        struct change *second = change_at(changes, 1);
        second->region = region_union(first->region, second->region);
        changes->start = (changes->start + 1) % CHANGES_MAX;
        changes->count--;
    }
    *change_at(changes, changes->count++) = (struct change){sequence, time_ms, region};
}

bool changes_since(const struct changes *changes, uint64_t since, const struct action_region *within,
                   struct action_region *region, int64_t *last_ms)
{
    bool any = false;
    for (size_t i = changes->count; i > 0; i--) { /* the newest first */
        const struct change *change = &changes->list[(changes->start + i - 1) % CHANGES_MAX];
        if (change->sequence <= since)
            break;
        if (within && !region_touches(change->region, *within))
            continue;
        if (region)
            *region = any ? region_union(*region, change->region) : change->region;
        if (!any && last_ms)
            *last_ms = change->time_ms;
        any = true;
        if (!region)
            break;
    }
    return any;
}
