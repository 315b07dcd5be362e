/* Tools that act: each op of the table of actions, and berth_batch. */
#ifndef BERTHOS_CLI_MCP_ACT_H
#define BERTHOS_CLI_MCP_ACT_H

#include "mcp/tool.h"

/* Does the op of the call's tool, or its batch of them. */
mcp_perform mcp_act_perform;

/* What actions answer. */
extern const struct mcp_member mcp_act_result[];

extern const struct mcp_tool mcp_tool_batch;

#endif
