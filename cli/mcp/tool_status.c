/* berth_status: which lease is in use, and for how long. */
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "mcp/arguments.h"
#include "mcp/tool.h"

static const struct mcp_member result[] = {
    {"lease", MCP_OBJECT, true, true, "the lease in use, or null: its id, state, shape and times"},
    {"seconds_left", MCP_INTEGER, false, true,
     "until the lease ends by itself; null where nothing limits it"},
    {"screen", MCP_OBJECT, false, true,
     "size of the screen and of its picture in the last screenshot, or null"},
    {"note", MCP_STRING, false, false, "what to do where there is no lease"},
    {0},
};

/* Until expires_at, in whole seconds; NULL where nothing limits the lease. */
static json_t *count_seconds(const json_t *lease)
{
    int64_t expires_ms;
    const char *text = json_string_value(json_object_get(lease, "expires_at"));
    if (!text || !clock_parse(text, &expires_ms))
        return json_null();
    int64_t left = (expires_ms - clock_realtime_ms()) / 1000;
    return json_integer(left > 0 ? left : 0);
}

/* The lease without what is of no use to a model. */
static json_t *summarize_lease(const json_t *lease)
{
    static const char *const kept[] = {"id", "state", "started_at", "expires_at"};
    static const char *const shape[] = {"vcpu", "mem_gib", "disk_gib", "os"};
    json_t *summary = json_object(), *value;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if ((value = json_object_get(lease, kept[i])))
            json_object_set(summary, kept[i], value);
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        if ((value = json_object_get(json_object_get(lease, "quote"), shape[i])))
            json_object_set(summary, shape[i], value);
    return summary;
}

static int perform_status(const struct mcp_call_context *context, const json_t *arguments,
                          struct mcp_done *done, struct mcp_fault *fault)
{
    static const char *const no_lease[] = {"no_lease", "several_leases", "lease_ended"};
    struct error err = ERROR_INIT;
    if (mcp_arguments_none(arguments, &err) < 0)
        return mcp_fault_arguments(fault, &err);
    CLEANUP_FREE char *id = mcp_node_lease(context->node, context->stop, fault);
    struct client_request request = {.method = "GET", .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *lease =
        id ? mcp_node_ask_lease(context->node, context->stop, id, "", &request, fault) : NULL;
    if (lease) {
        struct mcp_picture shown = {.scale = mcp_node_scale(context->node)};
        done->document = json_pack("{s:o, s:o, s:o}", "lease", summarize_lease(lease), "seconds_left",
                                   count_seconds(lease), "screen",
                                   shown.scale.frame_width ? mcp_picture_describe(&shown) : json_null());
        return 0;
    }
    /* To have no lease is a state that one may ask about. */
    for (size_t i = 0; i < sizeof no_lease / sizeof no_lease[0]; i++)
        if (strcmp(fault->code, no_lease[i]) == 0) {
            done->document = json_pack("{s:n, s:s}", "lease", "note", fault->text);
            return 0;
        }
    return -1;
}

const struct mcp_tool mcp_tool_status = {
    .name = "berth_status",
    .title = "Status of the lease",
    .help = "Tells which lease of a desktop is in use, how long it still lasts, "
            "and what to do where there is none.",
    .result = result,
    .perform = perform_status,
    .lane = MCP_LANE_FREE,
    .effects = EFFECT_READS | EFFECT_SAME,
};
