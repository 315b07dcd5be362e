/*
 * A tool. Those that are no op of the table of actions have a file of their own with one
 * `const struct mcp_tool mcp_tool_NAME`, which the table of tools.c names.
 */
#ifndef BERTHOS_CLI_MCP_TOOL_H
#define BERTHOS_CLI_MCP_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/fault.h"
#include "mcp/node.h"
#include "mcp/picture.h"
#include "mcp/schema.h"
#include "protocol/action.h"

/* How calls of a tool stand to those that came before. */
enum mcp_lane {
    MCP_LANE_FREE,   /* waits for nothing */
    MCP_LANE_LOOK,   /* sees what earlier acts did; waits for none that merely takes time */
    MCP_LANE_ACT,    /* after all earlier acts */
    MCP_LANE_LINGER, /* the same, but looks do not wait for it */
};

struct mcp_tool;

/* What a call is given. */
struct mcp_call_context {
    const struct mcp_tool *tool;
    struct mcp_node *node;
    struct mcp_stop *stop;
    client_tick *tick; /* NULL for none */
    void *tick_context;
    int64_t *duration_ms; /* where to put how long the call means to take; it is 0 before */
};

/* What a call has come to. */
struct mcp_done {
    json_t *document;           /* the structured content. Owned */
    struct mcp_picture picture; /* without base64 where there is none */
};

/* Does it: 0 and what was done, or -1 and the fault. arguments: an object. */
typedef int mcp_perform(const struct mcp_call_context *context, const json_t *arguments,
                        struct mcp_done *done, struct mcp_fault *fault);

struct mcp_tool {
    const char *name, *title;
    const char *help;            /* what a model reads */
    const struct action_op *op;  /* NULL for tools that are no op */
    const struct member *fields; /* what it takes */
    size_t field_count;
    bool screenshot, frame; /* takes these too */
    const struct mcp_member *result;
    mcp_perform *perform;
    enum mcp_lane lane;
    unsigned effects; /* of enum action_effect */
};

#endif
