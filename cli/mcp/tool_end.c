/* berth_end: ends the lease in use. */
#include "base/text.h"
#include "mcp/arguments.h"
#include "mcp/tool.h"

static const struct mcp_member result[] = {
    {"lease_id", MCP_STRING, true, false, "the lease that has ended"},
    {"occupancy_seconds", MCP_INTEGER, true, false, "how long it was held"},
    {"billed_seconds", MCP_INTEGER, false, false, "what counts, at least the minimum"},
    {"reason", MCP_STRING, false, false, "why it ended"},
    {0},
};

static int perform_end(const struct mcp_call_context *context, const json_t *arguments, struct mcp_done *done,
                       struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    if (mcp_arguments_none(arguments, &err) < 0)
        return mcp_fault_arguments(fault, &err);
    /* Asked again, it is the same lease that is meant, not one that has come up since. */
    CLEANUP_FREE char *ended = mcp_node_ended(context->node);
    CLEANUP_FREE char *lease = ended ? text_copy(ended) : mcp_node_lease(context->node, context->stop, fault);
    if (!lease)
        return -1;
    struct client_request request = {.method = "DELETE", .timeout_ms = CLIENT_NO_TIMEOUT};
    done->document = mcp_node_ask_lease(context->node, context->stop, lease, "", &request, fault);
    if (!done->document)
        return -1;
    mcp_node_lease_ended(context->node, lease);
    return 0;
}

const struct mcp_tool mcp_tool_end = {
    .name = "berth_end",
    .title = "End the lease",
    .help = "Ends the lease: the desktop and everything on it are destroyed for good. "
            "Only when the work is done. Answers the receipt.",
    .result = result,
    .perform = perform_end,
    .lane = MCP_LANE_ACT,
    .effects = EFFECT_DESTROYS | EFFECT_SAME,
};
