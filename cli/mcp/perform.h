/* What each tool does. All give 0 and what was done, or -1 and the fault. */
#ifndef BERTHOS_CLI_MCP_PERFORM_H
#define BERTHOS_CLI_MCP_PERFORM_H

#include <jansson.h>

#include "mcp/fault.h"
#include "mcp/picture.h"
#include "mcp/tools.h"

struct mcp_done {
    json_t *document;           /* the structured content. Owned */
    struct mcp_picture picture; /* without base64 where there is none */
};

void mcp_done_clear(struct mcp_done *done);
#define CLEANUP_MCP_DONE CLEANUP(mcp_done_clear)

typedef int mcp_perform(const struct mcp_call_context *context, const json_t *arguments,
                        struct mcp_done *done, struct mcp_fault *fault);

mcp_perform mcp_perform_screenshot, mcp_perform_zoom, mcp_perform_batch, mcp_perform_status, mcp_perform_end;

int mcp_perform_op(const struct mcp_call_context *context, const struct action_op *op,
                   const json_t *arguments, struct mcp_done *done, struct mcp_fault *fault);

#endif
