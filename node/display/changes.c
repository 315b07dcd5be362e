#include "display/changes.h"

struct action_region region_union(struct action_region a, struct action_region b)
{
    int32_t left = a.x < b.x ? a.x : b.x, top = a.y < b.y ? a.y : b.y;
    int32_t right = a.x + a.width > b.x + b.width ? a.x + a.width : b.x + b.width;
    int32_t bottom = a.y + a.height > b.y + b.height ? a.y + a.height : b.y + b.height;
    return (struct action_region){left, top, right - left, bottom - top};
}

struct action_region region_clip(struct action_region region, uint32_t width, uint32_t height)
{
    int32_t right = region.x + region.width, bottom = region.y + region.height;
    right = right < (int32_t)width ? right : (int32_t)width;
    bottom = bottom < (int32_t)height ? bottom : (int32_t)height;
    region.width = right > region.x ? right - region.x : 0;
    region.height = bottom > region.y ? bottom - region.y : 0;
    return region;
}

bool region_touches(struct action_region a, struct action_region b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

int64_t region_area(struct action_region region)
{
    return (int64_t)region.width * region.height;
}

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
