/* The table of tools: one for each op of the table of actions, and those that look, report and end. */
#ifndef BERTHOS_CLI_MCP_TOOLS_H
#define BERTHOS_CLI_MCP_TOOLS_H

#include <jansson.h>

#include "mcp/revision.h"
#include "mcp/tool.h"

/* The tool of a name, or NULL. Static. */
const struct mcp_tool *mcp_tools_find(const char *name);

/* The result of tools/list without what only a revision adds to all results. A new reference. */
json_t *mcp_tools_list(const struct mcp_revision *revision);

/*
 * Does what the context's tool is for, and gives the result of tools/call; what goes wrong is a result too,
 * with isError. arguments: an object, or NULL for none. A new reference.
 */
json_t *mcp_tools_call(const struct mcp_call_context *context, const json_t *arguments,
                       const struct mcp_revision *revision);

/* What the server tells a model about itself. Static. */
const char *mcp_tools_instructions(void);

#endif
