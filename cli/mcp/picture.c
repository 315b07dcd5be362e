#include "mcp/picture.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"

enum {
    ANSWER_MAX_BYTES = 192 * 1024 * 1024, /* of a noisy screen of the largest size, as base64 */
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

static unsigned big_endian(const unsigned char *bytes, unsigned count)
{
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* ITU-T T.81 annex B: segments up to the frame header. */
static bool jpeg_size(const unsigned char *data, size_t size, int32_t *width, int32_t *height)
{
    size_t at = 2;
    while (at + 9 < size && data[at] == 0xff) {
        unsigned marker = data[at + 1], length = big_endian(data + at + 2, 2);
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
            *height = (int32_t)big_endian(data + at + 5, 2);
            *width = (int32_t)big_endian(data + at + 7, 2);
            return *width > 0 && *height > 0;
        }
        if (length < 2)
            return false;
        at += 2 + (size_t)length;
    }
    return false;
}

const char *mcp_picture_size(const void *data, size_t size, int32_t *width, int32_t *height)
{
    const unsigned char *bytes = data;
    if (size >= 24 && memcmp(bytes, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) == 0) {
        unsigned wide = big_endian(bytes + 16, 4), high = big_endian(bytes + 20, 4);
        if (wide == 0 || high == 0 || wide > 0x7fff || high > 0x7fff)
            return NULL;
        *width = (int32_t)wide;
        *height = (int32_t)high;
        return "image/png";
    }
    if (size >= 4 && bytes[0] == 0xff && bytes[1] == 0xd8 && jpeg_size(bytes, size, width, height))
        return "image/jpeg";
    return NULL;
}

char *mcp_picture_base64(const void *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = data;
    char *text = malloc((size + 2) / 3 * 4 + 1), *to = text;
    if (!text)
        abort();
    for (size_t at = 0; at < size; at += 3) {
        size_t left = size - at;
        unsigned group = (unsigned)bytes[at] << 16 | (left > 1 ? (unsigned)bytes[at + 1] << 8 : 0) |
                         (left > 2 ? bytes[at + 2] : 0);
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[group & 63] : '=';
    }
    *to = '\0';
    return text;
}

/* How a picture is asked for. */
struct ask {
    const char *lease;
    const char *region; /* "" or "&region=..." */
    int64_t settle_ms;
    int32_t edge;
    int quality; /* 0 for PNG */
};

static int fetch(struct mcp_node *node, struct mcp_stop *stop, const struct ask *ask,
                 struct client_answer *answer, struct mcp_fault *fault)
{
    CLEANUP_FREE char *format =
        ask->quality ? text_format("jpeg&quality=%d", ask->quality) : text_copy("png");
    CLEANUP_FREE char *settle = ask->settle_ms
                                    ? text_format("&settle_ms=%d&timeout_ms=%d", (int)ask->settle_ms,
                                                  (int)ask->settle_ms + SETTLE_MORE_MS)
                                    : text_copy("");
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/screenshot?format=%s&max_edge=%d%s%s", ask->lease,
                                          format, ask->edge, settle, ask->region);
    struct client_request request = {.method = "GET",
                                     .path = path,
                                     .timeout_ms = CLIENT_TIMEOUT_MS + ask->settle_ms,
                                     .max_bytes = ANSWER_MAX_BYTES};
    if (mcp_node_ask(node, stop, &request, answer, fault) == 0)
        return 0;
    mcp_node_check_lease(node, stop, ask->lease, fault);
    return -1;
}

static bool read_number(const struct client_answer *answer, const char *name, int32_t *number)
{
    char text[16];
    int64_t value;
    if (!client_answer_header(answer, name, text, sizeof text) || !text_to_integer(text, 1, 0x7fff, &value))
        return false;
    *number = (int32_t)value;
    return true;
}

/* Takes over what was fetched; false when it is no picture. */
static bool read_picture(const struct client_answer *answer, struct mcp_picture *picture)
{
    struct mcp_view *view = &picture->view;
    char still[8];
    picture->unsettled =
        picture->unsettled ||
        (client_answer_header(answer, "X-Still", still, sizeof still) && strcmp(still, "false") == 0);
    picture->mime = mcp_picture_size(answer->data, answer->size, &view->picture_width, &view->picture_height);
    return picture->mime && read_number(answer, "X-Frame-Width", &view->frame_width) &&
           read_number(answer, "X-Frame-Height", &view->frame_height);
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
        if (fetch(node, stop, ask, &answer, fault) < 0)
            return -1;
        if (!read_picture(&answer, picture))
            return mcp_fault_set(fault, "connection_lost");
        ask->settle_ms = 0; /* it has been waited for */
        const struct mcp_view *view = &picture->view;
        if (!mcp_view_fits(view->picture_width, view->picture_height)) {
            int32_t edge = mcp_view_edge(view->picture_width, view->picture_height);
            ask->edge = edge < ask->edge ? edge : ask->edge - 1;
        } else if (answer.size <= RAW_MAX_BYTES) {
            picture->base64 = mcp_picture_base64(answer.data, answer.size);
            return 0;
        } else if (turn + 1 < sizeof qualities / sizeof qualities[0]) {
            turn++;
        } else {
            int32_t longer =
                view->picture_width > view->picture_height ? view->picture_width : view->picture_height;
            ask->edge = longer * 3 / 4;
        }
    } while (ask->edge >= EDGE_MIN);
    return mcp_fault_set(fault, "picture_too_large");
}

/* The edge to ask for: that of the screen as it was last, which it mostly still is. */
static int32_t likely_edge(const struct mcp_view *last)
{
    return last->frame_width && !mcp_view_fits(last->frame_width, last->frame_height)
               ? mcp_view_edge(last->frame_width, last->frame_height)
               : MCP_EDGE_MAX;
}

int mcp_picture_screen(struct mcp_node *node, struct mcp_stop *stop, const char *lease, int64_t settle_ms,
                       struct mcp_picture *picture, struct mcp_fault *fault)
{
    struct mcp_view last = mcp_node_view(node);
    struct ask ask = {.lease = lease, .region = "", .settle_ms = settle_ms, .edge = likely_edge(&last)};
    if (fetch_fitting(node, stop, &ask, picture, fault) < 0)
        return -1;
    /* The screen has grown since: the picture could have been larger. */
    if (picture->view.frame_width != last.frame_width && ask.edge < MCP_EDGE_MAX &&
        mcp_view_edge(picture->view.frame_width, picture->view.frame_height) > ask.edge) {
        free(TAKE(picture->base64));
        ask.edge = mcp_view_edge(picture->view.frame_width, picture->view.frame_height);
        if (fetch_fitting(node, stop, &ask, picture, fault) < 0)
            return -1;
    }
    mcp_node_set_view(node, &picture->view);
    return 0;
}

int mcp_picture_part(struct mcp_node *node, struct mcp_stop *stop, const char *lease, struct mcp_box box,
                     struct mcp_picture *picture, struct mcp_fault *fault)
{
    CLEANUP_FREE char *region = text_format("&region=%d,%d,%d,%d", box.x, box.y, box.width, box.height);
    struct ask ask = {.lease = lease, .region = region, .edge = MCP_EDGE_MAX};
    if (!mcp_view_fits(box.width, box.height))
        ask.edge = mcp_view_edge(box.width, box.height);
    return fetch_fitting(node, stop, &ask, picture, fault);
}

json_t *mcp_picture_wish(const struct mcp_view *last)
{
    return json_pack("{s:s, s:i, s:i, s:i}", "format", "png", "max_edge", likely_edge(last), "settle_ms",
                     SETTLE_MS, "timeout_ms", SETTLE_TIMEOUT_MS);
}

static bool read_size(const json_t *object, int32_t *width, int32_t *height)
{
    struct error ignored = ERROR_INIT;
    int64_t wide, high;
    if (!json_is_object(object) || document_integer(object, "width", 1, 0x7fff, &wide, &ignored) < 0 ||
        document_integer(object, "height", 1, 0x7fff, &high, &ignored) < 0)
        return false;
    *width = (int32_t)wide;
    *height = (int32_t)high;
    return true;
}

int mcp_picture_of_answer(struct mcp_node *node, struct mcp_stop *stop, const char *lease, json_t *answer,
                          struct mcp_picture *picture, struct mcp_fault *fault)
{
    const json_t *shot = json_object_get(answer, "screenshot");
    const json_t *data = json_object_get(shot, "data");
    struct mcp_view *view = &picture->view;
    if (!json_is_string(data) || !read_size(shot, &view->picture_width, &view->picture_height) ||
        !read_size(json_object_get(answer, "frame"), &view->frame_width, &view->frame_height) ||
        json_string_length(data) > MCP_BASE64_MAX ||
        !mcp_view_fits(view->picture_width, view->picture_height))
        return mcp_picture_screen(node, stop, lease, 0, picture, fault);
    const char *mime = json_string_value(json_object_get(shot, "mime"));
    picture->mime = mime && strcmp(mime, "image/jpeg") == 0 ? "image/jpeg" : "image/png";
    picture->base64 = text_copy(json_string_value(data));
    picture->unsettled = json_is_false(json_object_get(shot, "still"));
    mcp_node_set_view(node, view);
    return 0;
}
