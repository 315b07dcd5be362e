#include "display/region.h"

struct action_region region_whole(uint32_t width, uint32_t height)
{
    return (struct action_region){0, 0, (int32_t)width, (int32_t)height};
}

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

bool region_fits(struct action_region region, uint32_t width, uint32_t height)
{
    return region.x >= 0 && region.y >= 0 && region.width > 0 && region.height > 0 &&
           (int64_t)region.x + region.width <= width && (int64_t)region.y + region.height <= height;
}

bool region_touches(struct action_region a, struct action_region b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

int64_t region_area(struct action_region region)
{
    return (int64_t)region.width * region.height;
}
