/* Reckoning with rectangles of the screen. Private to display/. */
#ifndef BERTHOS_DISPLAY_REGION_H
#define BERTHOS_DISPLAY_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol/action.h"

/* All of a screen of a size. */
struct action_region region_whole(uint32_t width, uint32_t height);

/* The smallest rectangle around two. */
struct action_region region_union(struct action_region a, struct action_region b);

/* The part of one that lies on a screen of a size, maybe nothing. */
struct action_region region_clip(struct action_region region, uint32_t width, uint32_t height);

/* Whether one has pixels, and all of them are on a screen of a size. Any numbers may come. */
bool region_fits(struct action_region region, uint32_t width, uint32_t height);

/* Whether two have a pixel in common. */
bool region_touches(struct action_region a, struct action_region b);

/* How many pixels one has. */
int64_t region_area(struct action_region region);

#endif
