/*
 * From what a model sends as a tool's arguments to what a node takes: the actions of the table, and
 * coordinates of the screen for those of the picture. Pure.
 */
#ifndef BERTHOS_CLI_MCP_ARGUMENTS_H
#define BERTHOS_CLI_MCP_ARGUMENTS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "mcp/scale.h"
#include "protocol/action.h"

enum { MCP_ACTIONS_MAX = 256 };

/* What a tool is asked besides its action. */
struct mcp_asked {
    bool screenshot;        /* look after it */
    struct mcp_scale scale; /* what the coordinates refer to; all zero where that is not known */
    int64_t duration_ms; /* how long the actions mean to take by themselves, at most; 0 where nothing says */
};

/* The arguments with whole numbers, without those that are null. A new reference. */
json_t *mcp_arguments_own(const json_t *arguments);

/*
 * The action of one op. arguments: an object. last: what was shown last; `frame` in the arguments says
 * otherwise. ERROR_BAD_REQUEST says what is right. Text that cannot be typed is left to the node, which knows
 * its guest. A new reference.
 */
json_t *mcp_arguments_action(const struct action_op *op, const json_t *arguments,
                             const struct mcp_scale *last, struct mcp_asked *asked, struct error *err);

/* The array of actions of berth_batch. A new reference. */
json_t *mcp_arguments_batch(const json_t *arguments, const struct mcp_scale *last, struct mcp_asked *asked,
                            struct error *err);

/* The region of berth_zoom, as given and on the screen. */
int mcp_arguments_region(const json_t *arguments, const struct mcp_scale *last, struct mcp_asked *asked,
                         struct mcp_box *given, struct mcp_box *on_screen, struct error *err);

/* The size of a screen or picture: {"width", "height"}. */
int mcp_arguments_size(const json_t *size, int32_t *width, int32_t *height, struct error *err);

/* [x, y, width, height]. A new reference. */
json_t *mcp_arguments_box(struct mcp_box box);

/* Refuses any argument. */
int mcp_arguments_none(const json_t *arguments, struct error *err);

#endif
