/*
 * Between the picture that a model sees and the screen of the guest: how far a picture must be shrunk, and
 * which pixel of the one is which of the other. Pure.
 */
#ifndef BERTHOS_CLI_MCP_SCALE_H
#define BERTHOS_CLI_MCP_SCALE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A picture over these limits is silently shrunk on its way to a model, and clicks then land beside their
 * mark: long edge in pixels, and the number of squares of 28 pixels that cover it.
 */
enum { MCP_EDGE_MAX = 1568, MCP_TILE = 28, MCP_TILES_MAX = 1568 };

/* The largest coordinate, and edge of a screen, that is taken. */
enum { MCP_COORDINATE_MAX = 32767 };

/* A screen and the whole picture of it; all zero for none. */
struct mcp_scale {
    int32_t frame_width, frame_height;     /* of the screen */
    int32_t picture_width, picture_height; /* of the picture */
};

struct mcp_box {
    int32_t x, y, width, height;
};

/* The largest long edge at most that a picture of this size may have; that of the picture itself where it
 * fits. */
int32_t mcp_scale_edge(int32_t width, int32_t height);

/* Whether a picture of this size reaches a model unchanged. */
bool mcp_scale_fits(int32_t width, int32_t height);

/* A screen of this size and its picture, as a node draws it for mcp_scale_edge(). */
struct mcp_scale mcp_scale_of(int32_t frame_width, int32_t frame_height);

/* Pixels of the picture for one of the screen; at most 1. */
double mcp_scale_factor(const struct mcp_scale *scale);

/* A pixel of the picture -> the pixel of the screen under its middle. */
void mcp_scale_to_screen(const struct mcp_scale *scale, int32_t *x, int32_t *y);

/* A pixel of the screen -> the pixel of the picture that shows its middle. */
void mcp_scale_to_picture(const struct mcp_scale *scale, int32_t *x, int32_t *y);

/* Boxes; the result covers all of what was given. */
struct mcp_box mcp_scale_box_to_screen(const struct mcp_scale *scale, struct mcp_box box);
struct mcp_box mcp_scale_box_to_picture(const struct mcp_scale *scale, struct mcp_box box);

#endif
