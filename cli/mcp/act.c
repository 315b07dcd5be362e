#include "mcp/act.h"

#include "base/document.h"
#include "mcp/arguments.h"

const struct mcp_member mcp_act_result[] = {
    {"done", MCP_INTEGER, true, false, "how many actions were done"},
    {"frame", MCP_SIZE, true, false, "the size of the screen"},
    {"changed", MCP_CHANGED, false, true,
     "where the screen changed: [x, y, width, height] in pixels of the last screenshot, or null where it did "
     "not"},
    {"settled_ms", MCP_INTEGER, false, false,
     "milliseconds from the last action to the last change seen; 0 where there was none"},
    {"x", MCP_INTEGER, false, false, "of the pointer, for cursor_position, in pixels of the last screenshot"},
    {"y", MCP_INTEGER, false, false, "as x"},
    {"picture", MCP_PICTURE, false, false, "of the screenshot, where one was asked for"},
    {0},
};

/* What the node says that it did, in pixels of the picture that the caller goes by. */
static json_t *summarize_answer(const json_t *answer, const struct mcp_scale *scale)
{
    json_t *document = json_object(), *value;
    if ((value = json_object_get(answer, "done")))
        json_object_set(document, "done", value);
    const json_t *frame = json_object_get(answer, "frame");
    json_object_set_new(document, "frame",
                        mcp_picture_size((int32_t)json_integer_value(json_object_get(frame, "width")),
                                         (int32_t)json_integer_value(json_object_get(frame, "height"))));
    struct mcp_box box;
    if ((value = json_object_get(answer, "changed"))) {
        bool known = json_unpack(value, "[i, i, i, i]", &box.x, &box.y, &box.width, &box.height) == 0;
        if (known && scale->picture_width)
            box = mcp_scale_box_to_picture(scale, box);
        json_object_set_new(document, "changed", known ? mcp_arguments_box(box) : json_null());
    }
    if ((value = json_object_get(answer, "settled_ms")))
        json_object_set(document, "settled_ms", value);
    const json_t *x = json_object_get(answer, "x"), *y = json_object_get(answer, "y");
    if (x && y) {
        int32_t at_x = (int32_t)json_integer_value(x), at_y = (int32_t)json_integer_value(y);
        if (scale->picture_width)
            mcp_scale_to_picture(scale, &at_x, &at_y);
        json_object_set_new(document, "x", json_integer(at_x));
        json_object_set_new(document, "y", json_integer(at_y));
    }
    return document;
}

int mcp_act_perform(const struct mcp_call_context *context, const json_t *arguments, struct mcp_done *done,
                    struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    struct mcp_scale shown = mcp_node_scale(context->node);
    const struct action_op *op = context->tool->op; /* NULL for a batch */
    json_t *actions = op ? mcp_arguments_action(op, arguments, &shown, &asked, &err)
                         : mcp_arguments_batch(arguments, &shown, &asked, &err);
    if (!actions)
        return mcp_fault_arguments(fault, &err);
    CLEANUP_JSON json_t *body = json_pack(op ? "{s:[o]}" : "{s:o}", "actions", actions);
    *context->duration_ms = asked.duration_ms;
    CLEANUP_FREE char *lease = mcp_node_lease(context->node, context->stop, fault);
    if (!lease)
        return -1;
    if (asked.scale.frame_width)
        json_object_set_new(body, "frame",
                            mcp_picture_size(asked.scale.frame_width, asked.scale.frame_height));
    if (asked.screenshot)
        json_object_set_new(body, "screenshot", mcp_picture_wish(&asked.scale));
    /* Long texts, holds and waits take their time; the node bounds each. */
    struct client_request request = {.method = "POST",
                                     .body = body,
                                     .timeout_ms = CLIENT_NO_TIMEOUT,
                                     .max_bytes = MCP_ANSWER_MAX_BYTES,
                                     .tick = context->tick,
                                     .tick_context = context->tick_context};
    CLEANUP_JSON json_t *answer =
        mcp_node_ask_lease(context->node, context->stop, lease, "/actions", &request, fault);
    if (!answer)
        return -1;
    done->document = summarize_answer(answer, &asked.scale);
    if (!asked.screenshot)
        return 0;
    if (mcp_picture_of_answer(context->node, context->stop, lease, answer, &done->picture, fault) < 0)
        return -1;
    json_object_set_new(done->document, "picture", mcp_picture_describe(&done->picture));
    return 0;
}

static const struct member batch_fields[] = {
    {.name = "actions",
     .kind = MCP_FIELD_ACTIONS,
     .min = 1,
     .max = MCP_ACTIONS_MAX,
     .help = "done in order until the first that fails; all are checked before the first"},
};

const struct mcp_tool mcp_tool_batch = {
    .name = "berth_batch",
    .title = "Do several actions",
    .help =
        "Does several actions one after the other, without a look between them, until the first that fails. "
        "Each is {\"op\": ..., its fields}. Coordinates are pixels of the last berth_screenshot.",
    .fields = batch_fields,
    .field_count = 1,
    .screenshot = true,
    .frame = true,
    .result = mcp_act_result,
    .perform = mcp_act_perform,
    .lane = MCP_LANE_ACT,
    .effects = EFFECT_DESTROYS,
};
