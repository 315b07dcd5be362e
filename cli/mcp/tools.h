/* The tools: one for each op of the table of actions, and those that look, report and end. */
#ifndef BERTHOS_CLI_MCP_TOOLS_H
#define BERTHOS_CLI_MCP_TOOLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "mcp/fault.h"
#include "mcp/node.h"
#include "mcp/revision.h"
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
    struct mcp_node *node;
    struct mcp_stop *stop;
    client_tick *tick; /* NULL for none */
    void *tick_context;
    int64_t *duration_ms; /* where to put how long the call means to take; it is 0 before */
};

/* The tool of a name, or NULL. Static. */
const struct mcp_tool *mcp_tool_find(const char *name);

enum mcp_lane mcp_tool_lane(const struct mcp_tool *tool);

/* The result of tools/list without what only a revision adds to all results. A new reference. */
json_t *mcp_tools_list(const struct mcp_revision *revision);

/*
 * Does it, and gives the result of tools/call; what goes wrong is a result too, with isError. arguments: an
 * object, or NULL for none. A new reference.
 */
json_t *mcp_tool_call(const struct mcp_tool *tool, const struct mcp_call_context *context,
                      const json_t *arguments, const struct mcp_revision *revision);

/* What the server tells a model about itself. Static. */
const char *mcp_tools_instructions(void);

#endif
