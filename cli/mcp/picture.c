#include "mcp/picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/text.h"
#include "mcp/arguments.h"

enum {
    RAW_MAX_BYTES = MCP_BASE64_MAX / 4 * 3,
    SETTLE_MS = 200,          /* stillness that `screenshot: true` waits for */
    SETTLE_TIMEOUT_MS = 3000, /* and how long */
    SETTLE_MORE_MS = 5000,    /* how much longer than settle_ms berth_screenshot waits at most */
    EDGE_MIN = 64,
};

void mcp_picture_clear(struct mcp_picture *picture)
{
    free(picture->base64);
    memset(picture, 0, sizeof *picture);
}

json_t *mcp_picture_size(int32_t width, int32_t height)
{
    return json_pack("{s:i, s:i}", "width", width, "height", height);
}

json_t *mcp_picture_describe(const struct mcp_picture *picture)
{
    const struct mcp_scale *scale = &picture->scale;
    return json_pack("{s:i, s:i, s:o, s:f, s:o*}", "width", scale->picture_width, "height",
                     scale->picture_height, "frame",
                     mcp_picture_size(scale->frame_width, scale->frame_height), "scale",
                     mcp_scale_factor(scale), "still", picture->unsettled ? json_false() : NULL);
}

/* How a picture is asked for. */
struct ask {
    const char *lease;
    const char *region; /* "" or "&region=..." */
    int64_t settle_ms;
    int32_t edge;
    int quality; /* 0 for PNG */
};

/* What the headers of a picture say. */
enum { PICTURE_WIDTH, PICTURE_HEIGHT, FRAME_WIDTH, FRAME_HEIGHT, STILL, HEADER_COUNT };

static bool read_number(const struct client_header *header, int32_t *number)
{
    int64_t value = 0;
    bool good = text_to_integer(header->value, 1, MCP_COORDINATE_MAX, &value);
    *number = (int32_t)value;
    return good;
}

/* Takes over what was fetched; false when it is no picture. */
static bool read_picture(const struct client_answer *answer, const struct client_header *headers,
                         struct mcp_picture *picture)
{
    struct mcp_scale *scale = &picture->scale;
    bool png = strcmp(answer->type, "image/png") == 0, jpeg = strcmp(answer->type, "image/jpeg") == 0;
    picture->mime = png ? "image/png" : "image/jpeg";
    picture->unsettled = picture->unsettled || strcmp(headers[STILL].value, "false") == 0;
    return (png || jpeg) && read_number(&headers[PICTURE_WIDTH], &scale->picture_width) &&
           read_number(&headers[PICTURE_HEIGHT], &scale->picture_height) &&
           read_number(&headers[FRAME_WIDTH], &scale->frame_width) &&
           read_number(&headers[FRAME_HEIGHT], &scale->frame_height);
}

static int fetch_picture(struct mcp_node *node, struct mcp_stop *stop, const struct ask *ask,
                         struct client_answer *answer, struct mcp_picture *picture, struct mcp_fault *fault)
{
    CLEANUP_FREE char *format =
        ask->quality ? text_format("jpeg&quality=%d", ask->quality) : text_copy("png");
    CLEANUP_FREE char *settle = ask->settle_ms
                                    ? text_format("&settle_ms=%d&timeout_ms=%d", (int)ask->settle_ms,
                                                  (int)ask->settle_ms + SETTLE_MORE_MS)
                                    : text_copy("");
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/screenshot?format=%s&max_edge=%d%s%s", ask->lease,
                                          format, ask->edge, settle, ask->region);
    struct client_header headers[] = {[PICTURE_WIDTH] = {"X-Picture-Width", ""},
                                      [PICTURE_HEIGHT] = {"X-Picture-Height", ""},
                                      [FRAME_WIDTH] = {"X-Frame-Width", ""},
                                      [FRAME_HEIGHT] = {"X-Frame-Height", ""},
                                      [STILL] = {"X-Still", ""},
                                      [HEADER_COUNT] = {NULL, ""}};
    struct client_request request = {.method = "GET",
                                     .path = path,
                                     .timeout_ms = CLIENT_TIMEOUT_MS + ask->settle_ms,
                                     .max_bytes = MCP_ANSWER_MAX_BYTES,
                                     .headers = headers};
    if (mcp_node_ask(node, stop, &request, answer, fault) < 0) {
        mcp_node_check_lease(node, stop, ask->lease, fault);
        return -1;
    }
    return read_picture(answer, headers, picture) ? 0 : mcp_fault_set(fault, "connection_lost");
}

/*
 * PNG first. One that has too many pixels is asked for again with the edge that fits: a screen's size is
 * known only by its picture. One of too many bytes is asked for as JPEG, and in the end smaller.
 */
static int fetch_fitting(struct mcp_node *node, struct mcp_stop *stop, struct ask *ask,
                         struct mcp_picture *picture, struct mcp_fault *fault)
{
    static const int qualities[] = {0, 80, 60, 40, 20};
    size_t turn = 0;
    do {
        CLEANUP_CLIENT_ANSWER struct client_answer answer = {0};
        ask->quality = qualities[turn];
        if (fetch_picture(node, stop, ask, &answer, picture, fault) < 0)
            return -1;
        ask->settle_ms = 0; /* it has been waited for */
        const struct mcp_scale *scale = &picture->scale;
        if (!mcp_scale_fits(scale->picture_width, scale->picture_height)) {
            int32_t edge = mcp_scale_edge(scale->picture_width, scale->picture_height);
            ask->edge = edge < ask->edge ? edge : ask->edge - 1;
        } else if (answer.size <= RAW_MAX_BYTES) {
            picture->base64 = base64_encode(answer.data, answer.size);
            return 0;
        } else if (turn + 1 < sizeof qualities / sizeof qualities[0]) {
            turn++;
        } else {
            int32_t longer =
                scale->picture_width > scale->picture_height ? scale->picture_width : scale->picture_height;
            ask->edge = longer * 3 / 4;
        }
    } while (ask->edge >= EDGE_MIN);
    return mcp_fault_set(fault, "picture_too_large");
}

/* The edge to ask for: that of the screen as it was last, which it mostly still is. */
static int32_t likely_edge(const struct mcp_scale *last)
{
    return last->frame_width && !mcp_scale_fits(last->frame_width, last->frame_height)
               ? mcp_scale_edge(last->frame_width, last->frame_height)
               : MCP_EDGE_MAX;
}

int mcp_picture_screen(struct mcp_node *node, struct mcp_stop *stop, const char *lease, int64_t settle_ms,
                       struct mcp_picture *picture, struct mcp_fault *fault)
{
    struct mcp_scale last = mcp_node_scale(node);
    struct ask ask = {.lease = lease, .region = "", .settle_ms = settle_ms, .edge = likely_edge(&last)};
    if (fetch_fitting(node, stop, &ask, picture, fault) < 0)
        return -1;
    /* The screen has grown since: the picture could have been larger. */
    if (picture->scale.frame_width != last.frame_width && ask.edge < MCP_EDGE_MAX &&
        mcp_scale_edge(picture->scale.frame_width, picture->scale.frame_height) > ask.edge) {
        free(TAKE(picture->base64));
        ask.edge = mcp_scale_edge(picture->scale.frame_width, picture->scale.frame_height);
        if (fetch_fitting(node, stop, &ask, picture, fault) < 0)
            return -1;
    }
    mcp_node_set_scale(node, &picture->scale);
    return 0;
}

int mcp_picture_part(struct mcp_node *node, struct mcp_stop *stop, const char *lease, struct mcp_box box,
                     struct mcp_picture *picture, struct mcp_fault *fault)
{
    CLEANUP_FREE char *region = text_format("&region=%d,%d,%d,%d", box.x, box.y, box.width, box.height);
    struct ask ask = {.lease = lease, .region = region, .edge = MCP_EDGE_MAX};
    if (!mcp_scale_fits(box.width, box.height))
        ask.edge = mcp_scale_edge(box.width, box.height);
    return fetch_fitting(node, stop, &ask, picture, fault);
}

json_t *mcp_picture_wish(const struct mcp_scale *last)
{
    return json_pack("{s:s, s:i, s:i, s:i}", "format", "png", "max_edge", likely_edge(last), "settle_ms",
                     SETTLE_MS, "timeout_ms", SETTLE_TIMEOUT_MS);
}

int mcp_picture_of_answer(struct mcp_node *node, struct mcp_stop *stop, const char *lease, json_t *answer,
                          struct mcp_picture *picture, struct mcp_fault *fault)
{
    const json_t *shot = json_object_get(answer, "screenshot");
    const json_t *data = json_object_get(shot, "data");
    struct mcp_scale *scale = &picture->scale;
    struct error ignored = ERROR_INIT;
    if (!json_is_string(data) ||
        mcp_arguments_size(shot, &scale->picture_width, &scale->picture_height, &ignored) < 0 ||
        mcp_arguments_size(json_object_get(answer, "frame"), &scale->frame_width, &scale->frame_height,
                           &ignored) < 0 ||
        json_string_length(data) > MCP_BASE64_MAX ||
        !mcp_scale_fits(scale->picture_width, scale->picture_height))
        return mcp_picture_screen(node, stop, lease, 0, picture, fault);
    const char *mime = json_string_value(json_object_get(shot, "mime"));
    picture->mime = mime && strcmp(mime, "image/jpeg") == 0 ? "image/jpeg" : "image/png";
    picture->base64 = text_copy(json_string_value(data));
    picture->unsettled = json_is_false(json_object_get(shot, "still"));
    mcp_node_set_scale(node, scale);
    return 0;
}
