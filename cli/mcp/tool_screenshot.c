/* berth_screenshot: the whole screen. */
#include "base/document.h"
#include "mcp/arguments.h"
#include "mcp/tool.h"

static const struct member fields[] = {
    {.name = "settle_ms",
     .kind = MEMBER_INTEGER,
     .optional = true,
     .max = 10000,
     .help = "first wait until the screen has been still for so long, milliseconds; "
             "one that is not in 5 seconds more is shown as it is"},
};

static const struct mcp_member result[] = {MCP_PICTURE_MEMBERS, {0}};

static int perform_screenshot(const struct mcp_call_context *context, const json_t *arguments,
                              struct mcp_done *done, struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    int64_t settle_ms = 0;
    CLEANUP_JSON json_t *own = mcp_arguments_own(arguments);
    if (document_keys(own, (const char *const[]){fields->name, NULL}, &err) < 0 ||
        document_maybe_integer(own, fields->name, fields->min, fields->max, &settle_ms, &err) < 0)
        return mcp_fault_arguments(fault, &err);
    CLEANUP_FREE char *lease = mcp_node_lease(context->node, context->stop, fault);
    if (!lease ||
        mcp_picture_screen(context->node, context->stop, lease, settle_ms, &done->picture, fault) < 0)
        return -1;
    done->document = mcp_picture_describe(&done->picture);
    return 0;
}

const struct mcp_tool mcp_tool_screenshot = {
    .name = "berth_screenshot",
    .title = "Take a screenshot",
    .help = "Shows the whole screen of the guest as it is now, with the pointer. "
            "The coordinates of all other tools are pixels of this picture. "
            "Take one first, and after anything that changes the screen.",
    .fields = fields,
    .field_count = 1,
    .result = result,
    .perform = perform_screenshot,
    .lane = MCP_LANE_LOOK,
    .effects = EFFECT_READS | EFFECT_SAME,
};
