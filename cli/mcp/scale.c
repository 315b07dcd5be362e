#include "mcp/scale.h"

/* The short edge that goes with a long one: rounded, a half down. */
static int32_t short_edge(int32_t longer, int32_t shorter, int32_t edge)
{
    int64_t twice = 2 * (int64_t)shorter * edge;
    return twice > longer ? (int32_t)((twice + longer - 1) / (2 * (int64_t)longer)) : 1;
}

static int32_t count_tiles(int32_t length)
{
    return (length + MCP_TILE - 1) / MCP_TILE;
}

bool mcp_scale_fits(int32_t width, int32_t height)
{
    return width <= MCP_EDGE_MAX && height <= MCP_EDGE_MAX &&
           count_tiles(width) * count_tiles(height) <= MCP_TILES_MAX;
}

int32_t mcp_scale_edge(int32_t width, int32_t height)
{
    int32_t longer = width > height ? width : height;
    int32_t shorter = width > height ? height : width;
    int32_t edge = longer < MCP_EDGE_MAX ? longer : MCP_EDGE_MAX;
    while (edge > 1 && !mcp_scale_fits(edge, short_edge(longer, shorter, edge)))
        edge--;
    return edge;
}

struct mcp_scale mcp_scale_of(int32_t frame_width, int32_t frame_height)
{
    int32_t edge = mcp_scale_edge(frame_width, frame_height);
    bool wide = frame_width >= frame_height;
    return (struct mcp_scale){
        .frame_width = frame_width,
        .frame_height = frame_height,
        .picture_width = wide ? edge : short_edge(frame_height, frame_width, edge),
        .picture_height = wide ? short_edge(frame_width, frame_height, edge) : edge,
    };
}

static int32_t longer_edge(int32_t width, int32_t height)
{
    return width > height ? width : height;
}

/* The scale as a fraction: part / whole. */
static void read_fraction(const struct mcp_scale *scale, int32_t *part, int32_t *whole)
{
    *part = longer_edge(scale->picture_width, scale->picture_height);
    *whole = longer_edge(scale->frame_width, scale->frame_height);
}

double mcp_scale_factor(const struct mcp_scale *scale)
{
    int32_t part, whole;
    read_fraction(scale, &part, &whole);
    return (double)part / whole;
}

/* Where the middle of pixel `at` lies when all is made `to / from` times as large. */
static int32_t map_middle(int32_t at, int32_t from, int32_t to, int32_t count)
{
    int64_t there = ((int64_t)at * 2 + 1) * to / ((int64_t)from * 2);
    return there >= count ? count - 1 : (int32_t)there;
}

void mcp_scale_to_screen(const struct mcp_scale *scale, int32_t *x, int32_t *y)
{
    int32_t part, whole;
    read_fraction(scale, &part, &whole);
    *x = map_middle(*x, part, whole, scale->frame_width);
    *y = map_middle(*y, part, whole, scale->frame_height);
}

void mcp_scale_to_picture(const struct mcp_scale *scale, int32_t *x, int32_t *y)
{
    int32_t part, whole;
    read_fraction(scale, &part, &whole);
    *x = map_middle(*x, whole, part, scale->picture_width);
    *y = map_middle(*y, whole, part, scale->picture_height);
}

/* An interval, made `to / from` times as large, and so that it covers all of it within `count`. */
static void cover_interval(int32_t *at, int32_t *length, int32_t from, int32_t to, int32_t count)
{
    int64_t start = (int64_t)*at * to / from;
    int64_t end = (((int64_t)*at + *length) * to + from - 1) / from;
    start = start >= count ? count - 1 : start;
    end = end > count ? count : end;
    *at = (int32_t)start;
    *length = (int32_t)(end > start ? end - start : 1);
}

struct mcp_box mcp_scale_box_to_screen(const struct mcp_scale *scale, struct mcp_box box)
{
    int32_t part, whole;
    read_fraction(scale, &part, &whole);
    cover_interval(&box.x, &box.width, part, whole, scale->frame_width);
    cover_interval(&box.y, &box.height, part, whole, scale->frame_height);
    return box;
}

struct mcp_box mcp_scale_box_to_picture(const struct mcp_scale *scale, struct mcp_box box)
{
    int32_t part, whole;
    read_fraction(scale, &part, &whole);
    cover_interval(&box.x, &box.width, whole, part, scale->picture_width);
    cover_interval(&box.y, &box.height, whole, part, scale->picture_height);
    return box;
}
