#include "mcp/perform.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "mcp/arguments.h"

enum { ANSWER_MAX_BYTES = 192 * 1024 * 1024 };

void mcp_done_clear(struct mcp_done *done)
{
    json_decref(done->document);
    mcp_picture_clear(&done->picture);
}

static json_t *size_of(int32_t width, int32_t height)
{
    return json_pack("{s:i, s:i}", "width", width, "height", height);
}

/* scale: pixels of the picture for one of the screen. */
static json_t *describe(const struct mcp_view *view, double scale)
{
    return json_pack("{s:i, s:i, s:o, s:f}", "width", view->picture_width, "height", view->picture_height,
                     "frame", size_of(view->frame_width, view->frame_height), "scale", scale);
}

static json_t *describe_whole(const struct mcp_picture *picture)
{
    json_t *document = describe(&picture->view, mcp_view_scale(&picture->view));
    if (picture->unsettled)
        json_object_set_new(document, "still", json_false());
    return document;
}

int mcp_perform_screenshot(const struct mcp_call_context *context, const json_t *arguments,
                           struct mcp_done *done, struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    int64_t settle_ms;
    if (mcp_arguments_screenshot(arguments, &settle_ms, &err) < 0)
        return mcp_fault_arguments(fault, &err);
    CLEANUP_FREE char *lease = mcp_node_lease(context->node, context->stop, fault);
    if (!lease ||
        mcp_picture_screen(context->node, context->stop, lease, settle_ms, &done->picture, fault) < 0)
        return -1;
    done->document = describe_whole(&done->picture);
    return 0;
}

int mcp_perform_zoom(const struct mcp_call_context *context, const json_t *arguments, struct mcp_done *done,
                     struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    struct mcp_box given, box;
    struct mcp_view shown = mcp_node_view(context->node);
    if (mcp_arguments_region(arguments, &shown, &asked, &given, &box, &err) < 0)
        return mcp_fault_arguments(fault, &err);
    CLEANUP_FREE char *lease = mcp_node_lease(context->node, context->stop, fault);
    if (!lease || mcp_picture_part(context->node, context->stop, lease, box, &done->picture, fault) < 0)
        return -1;
    const struct mcp_view *view = &done->picture.view;
    if (asked.view.frame_width &&
        (view->frame_width != asked.view.frame_width || view->frame_height != asked.view.frame_height))
        return mcp_fault_set(fault, "frame_changed");
    struct mcp_view part = {box.width, box.height, view->picture_width, view->picture_height};
    done->document = describe(view, mcp_view_scale(&part));
    json_object_set_new(done->document, "region",
                        json_pack("[i, i, i, i]", given.x, given.y, given.width, given.height));
    return 0;
}

/* What the node says that it did, in pixels of the picture that the caller goes by. */
static json_t *summarize(const json_t *answer, const struct mcp_view *view)
{
    json_t *document = json_object(), *value;
    if ((value = json_object_get(answer, "done")))
        json_object_set(document, "done", value);
    const json_t *frame = json_object_get(answer, "frame");
    json_object_set_new(document, "frame",
                        size_of((int32_t)json_integer_value(json_object_get(frame, "width")),
                                (int32_t)json_integer_value(json_object_get(frame, "height"))));
    if ((value = json_object_get(answer, "changed"))) {
        int numbers[4];
        struct mcp_box box;
        if (json_unpack(value, "[i, i, i, i]", &numbers[0], &numbers[1], &numbers[2], &numbers[3]) == 0) {
            box = (struct mcp_box){numbers[0], numbers[1], numbers[2], numbers[3]};
            if (view->picture_width)
                box = mcp_view_box_to_picture(view, box);
            json_object_set_new(document, "changed",
                                json_pack("[i, i, i, i]", box.x, box.y, box.width, box.height));
        } else {
            json_object_set_new(document, "changed", json_null());
        }
    }
    if ((value = json_object_get(answer, "settled_ms")))
        json_object_set(document, "settled_ms", value);
    if (json_object_get(answer, "x") && json_object_get(answer, "y")) {
        int32_t x = (int32_t)json_integer_value(json_object_get(answer, "x"));
        int32_t y = (int32_t)json_integer_value(json_object_get(answer, "y"));
        if (view->picture_width)
            mcp_view_to_picture(view, &x, &y);
        json_object_set_new(document, "x", json_integer(x));
        json_object_set_new(document, "y", json_integer(y));
    }
    return document;
}

/* Sends actions (a reference that is taken over) and looks afterwards where that was asked for. */
static int act(const struct mcp_call_context *context, json_t *actions, const struct mcp_asked *asked,
               struct mcp_done *done, struct mcp_fault *fault)
{
    CLEANUP_JSON json_t *body = json_pack("{s:o}", "actions", actions);
    *context->duration_ms = asked->duration_ms;
    CLEANUP_FREE char *lease = mcp_node_lease(context->node, context->stop, fault);
    if (!lease)
        return -1;
    if (asked->view.frame_width)
        json_object_set_new(body, "frame", size_of(asked->view.frame_width, asked->view.frame_height));
    if (asked->screenshot)
        json_object_set_new(body, "screenshot", mcp_picture_wish(&asked->view));
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/actions", lease);
    /* Long texts, holds and waits take their time; the node bounds each. */
    struct client_request request = {.method = "POST",
                                     .path = path,
                                     .body = body,
                                     .timeout_ms = CLIENT_NO_TIMEOUT,
                                     .max_bytes = ANSWER_MAX_BYTES,
                                     .tick = context->tick,
                                     .tick_context = context->tick_context};
    CLEANUP_JSON json_t *answer = mcp_node_ask_json(context->node, context->stop, &request, fault);
    if (!answer) {
        mcp_node_check_lease(context->node, context->stop, lease, fault);
        return -1;
    }
    done->document = summarize(answer, &asked->view);
    if (!asked->screenshot)
        return 0;
    if (mcp_picture_of_answer(context->node, context->stop, lease, answer, &done->picture, fault) < 0)
        return -1;
    json_object_set_new(done->document, "picture", describe_whole(&done->picture));
    return 0;
}

int mcp_perform_op(const struct mcp_call_context *context, const struct action_op *op,
                   const json_t *arguments, struct mcp_done *done, struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    struct mcp_view shown = mcp_node_view(context->node);
    json_t *action = mcp_arguments_action(op, arguments, &shown, &asked, &err);
    if (!action)
        return mcp_fault_arguments(fault, &err);
    return act(context, json_pack("[o]", action), &asked, done, fault);
}

int mcp_perform_batch(const struct mcp_call_context *context, const json_t *arguments, struct mcp_done *done,
                      struct mcp_fault *fault)
{
    struct error err = ERROR_INIT;
    struct mcp_asked asked;
    struct mcp_view shown = mcp_node_view(context->node);
    json_t *actions = mcp_arguments_batch(arguments, &shown, &asked, &err);
    if (!actions)
        return mcp_fault_arguments(fault, &err);
    return act(context, actions, &asked, done, fault);
}

/* Until expires_at, in whole seconds; NULL where nothing limits the lease. */
static json_t *seconds_left(const json_t *lease)
{
    int64_t expires_ms;
    const char *text = json_string_value(json_object_get(lease, "expires_at"));
    if (!text || !clock_parse(text, &expires_ms))
        return json_null();
    int64_t left = (expires_ms - clock_realtime_ms()) / 1000;
    return json_integer(left > 0 ? left : 0);
}

/* The lease without what is of no use to a model. */
static json_t *lease_summary(const json_t *lease)
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

int mcp_perform_status(const struct mcp_call_context *context, const json_t *arguments, struct mcp_done *done,
                       struct mcp_fault *fault)
{
    static const char *const no_lease[] = {"no_lease", "several_leases", "lease_ended"};
    struct error err = ERROR_INIT;
    if (mcp_arguments_none(arguments, &err) < 0)
        return mcp_fault_arguments(fault, &err);
    CLEANUP_FREE char *id = mcp_node_lease(context->node, context->stop, fault);
    CLEANUP_FREE char *path = text_format("/v1/leases/%s", id ? id : "");
    struct client_request request = {.method = "GET", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *lease = id ? mcp_node_ask_json(context->node, context->stop, &request, fault) : NULL;
    if (id && !lease)
        mcp_node_check_lease(context->node, context->stop, id, fault);
    if (lease) {
        struct mcp_view view = mcp_node_view(context->node);
        done->document =
            json_pack("{s:o, s:o, s:o}", "lease", lease_summary(lease), "seconds_left", seconds_left(lease),
                      "screen", view.frame_width ? describe(&view, mcp_view_scale(&view)) : json_null());
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

int mcp_perform_end(const struct mcp_call_context *context, const json_t *arguments, struct mcp_done *done,
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
    CLEANUP_FREE char *path = text_format("/v1/leases/%s", lease);
    struct client_request request = {.method = "DELETE", .path = path, .timeout_ms = CLIENT_NO_TIMEOUT};
    done->document = mcp_node_ask_json(context->node, context->stop, &request, fault);
    if (!done->document) {
        mcp_node_check_lease(context->node, context->stop, lease, fault);
        return -1;
    }
    mcp_node_lease_ended(context->node, lease);
    return 0;
}
