/* berth_zoom: a part of the screen at full resolution. */
#include "mcp/arguments.h"
#include "mcp/tool.h"

static const struct member fields[] = {
    {.name = "region",
     .kind = FIELD_REGION,
     .help = "[x, y, width, height] in pixels of the last screenshot: "
             "the upper left corner and the size, not two corners"},
};

static const struct mcp_member result[] = {
    MCP_PICTURE_MEMBERS,
    {"region", MCP_REGION, true, false,
     "what it shows: [x, y, width, height] in pixels of the last screenshot"},
    {0},
};

static int perform_zoom(const struct mcp_call_context *context, const json_t *arguments,
                        struct mcp_done *done, struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    struct mcp_box given, box;
    struct mcp_scale shown = mcp_node_scale(context->node);
    if (mcp_arguments_region(arguments, &shown, &asked, &given, &box, &err) < 0)
        return mcp_fault_arguments(fault, &err);
    CLEANUP_FREE char *lease = mcp_node_lease(context->node, context->stop, fault);
    if (!lease || mcp_picture_part(context->node, context->stop, lease, box, &done->picture, fault) < 0)
        return -1;
    const struct mcp_scale *scale = &done->picture.scale;
    if (asked.scale.frame_width &&
        (scale->frame_width != asked.scale.frame_width || scale->frame_height != asked.scale.frame_height))
        return mcp_fault_set(fault, "frame_changed");
    struct mcp_scale part = {box.width, box.height, scale->picture_width, scale->picture_height};
    done->document = mcp_picture_describe(&done->picture);
    json_object_set_new(done->document, "scale", json_real(mcp_scale_factor(&part)));
    json_object_set_new(done->document, "region", mcp_arguments_box(given));
    return 0;
}

const struct mcp_tool mcp_tool_zoom = {
    .name = "berth_zoom",
    .title = "Look closely",
    .help = "Shows a part of the screen at full resolution, to read what is small. "
            "Coordinates for other tools are still those of the last berth_screenshot, not of this picture.",
    .fields = fields,
    .field_count = 1,
    .frame = true,
    .result = result,
    .perform = perform_zoom,
    .lane = MCP_LANE_LOOK,
    .effects = EFFECT_READS | EFFECT_SAME,
};
