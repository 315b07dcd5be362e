#include "web/screen_answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/document.h"
#include "base/member.h"
#include "base/text.h"
#include "protocol/action.h"

enum { LOOK_TIMEOUT_MS = 5000, LOOK_TIMEOUT_MAX_MS = 60000, ACTIONS_MAX = 256, EDGE_MAX = 32767 };

static const struct picture_request plain_request = {.format = PICTURE_PNG,
                                                     .quality = PICTURE_QUALITY_DEFAULT,
                                                     .settle_ms = -1,
                                                     .timeout_ms = LOOK_TIMEOUT_MS};

static const char *const format_words[] = {"png", "jpeg", NULL}; /* enum picture_format */

/* What a picture request says, beside its region: one table for the query and for the body. */
#define AT(member) MEMBER_AT(struct picture_request, member)
static const struct member members[] = {
    {"quality", MEMBER_INTEGER, AT(quality), .min = 1, .max = 100},
    {"max_edge", MEMBER_INTEGER, AT(max_edge), .min = 1, .max = EDGE_MAX},
    {"settle_ms", MEMBER_INTEGER, AT(settle_ms), .min = 0, .max = LOOK_TIMEOUT_MAX_MS},
    {"timeout_ms", MEMBER_INTEGER, AT(timeout_ms), .min = 1, .max = LOOK_TIMEOUT_MAX_MS},
    {"format", MEMBER_WORD, AT(format), .words = format_words, .allowed = "png or jpeg"},
};
enum { MEMBERS = sizeof members / sizeof members[0] };

static int refuse_member(const struct member *member, struct error *err)
{
    CLEANUP_FREE char *allowed = member_allowed(member);
    return error_set(err, ERROR_BAD_REQUEST, "\"%s\" must be %s", member->name, allowed);
}

static int set_region(struct picture_request *request, const int64_t values[4], struct error *err)
{
    bool good = values[2] > 0 && values[3] > 0;
    for (int i = 0; i < 4; i++)
        good = good && values[i] >= 0 && values[i] <= EDGE_MAX;
    if (!good)
        return error_set(err, ERROR_BAD_REQUEST,
                         "\"region\" must be x, y, width and height in pixels, whole numbers from 0 to %d, "
                         "with width and height at least 1",
                         EDGE_MAX);
    request->has_region = true;
    request->region = (struct action_region){(int32_t)values[0], (int32_t)values[1], (int32_t)values[2],
                                             (int32_t)values[3]};
    return 0;
}

/* "x,y,width,height" */
static int read_region(const char *text, struct picture_request *request, struct error *err)
{
    int64_t values[4] = {-1, -1, -1, -1};
    for (int i = 0; i < 4; i++) {
        char piece[8];
        size_t length = strcspn(text, ",");
        bool last = text[length] == '\0';
        if (length >= sizeof piece || last != (i == 3))
            break;
        snprintf(piece, sizeof piece, "%.*s", (int)length, text);
        if (!text_to_integer(piece, 0, EDGE_MAX, &values[i]))
            break;
        text += length + !last;
    }
    return set_region(request, values, err);
}

/* What the query asks for; an argument that is not known is refused, not ignored. */
int screen_decode_screenshot(const struct exchange *exchange, struct picture_request *request,
                             struct error *err)
{
    /* "token" is how a view is reached */
    static const char *const known[] = {"format",    "quality",    "region", "max_edge",
                                        "settle_ms", "timeout_ms", "token",  NULL};
    *request = plain_request;
    if (exchange_arguments(exchange, known, err) < 0)
        return -1;
    for (int i = 0; i < MEMBERS; i++) {
        const char *text = exchange_argument(exchange, members[i].name);
        if (text && !member_parse(&members[i], text, request))
            return refuse_member(&members[i], err);
    }
    const char *region = exchange_argument(exchange, "region");
    if (region && read_region(region, request, err) < 0)
        return -1;
    request->known_etag = exchange_header(exchange, MHD_HTTP_HEADER_IF_NONE_MATCH);
    return 0;
}

static void number_header(struct exchange *exchange, const char *name, uint32_t value)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, value);
    answer_header(exchange, name, number);
}

/* The answer holds a reference until it has been sent. */
static void drop_picture(void *picture)
{
    picture_release(picture);
}

int screen_answer_screenshot(struct exchange *exchange, const struct picture_request *request,
                             struct picture *picture)
{
    CLEANUP_PICTURE struct picture *owned = picture;
    char text[64];
    if (picture->known)
        answer_empty(exchange, MHD_HTTP_NOT_MODIFIED);
    else
        answer_shared(exchange, picture->mime, picture->data, picture->size, drop_picture, TAKE(owned));
    number_header(exchange, "X-Picture-Width", picture->width);
    number_header(exchange, "X-Picture-Height", picture->height);
    number_header(exchange, "X-Frame-Width", picture->frame_width);
    number_header(exchange, "X-Frame-Height", picture->frame_height);
    snprintf(text, sizeof text, "%.17g", picture->scale);
    answer_header(exchange, "X-Scale", text);
    answer_header(exchange, MHD_HTTP_HEADER_ETAG, picture->etag);
    if (request->settle_ms >= 0)
        answer_header(exchange, "X-Still", picture->still ? "true" : "false");
    if (!request->has_region)
        return 0;
    snprintf(text, sizeof text, "%d,%d,%d,%d", picture->region.x, picture->region.y, picture->region.width,
             picture->region.height);
    answer_header(exchange, "X-Region", text);
    return 0;
}

/* --- actions --------------------------------------------------------------------------------------- */

void screen_clear_actions(struct screen_actions *asked)
{
    for (size_t i = 0; i < asked->count; i++)
        action_clear(&asked->actions[i]);
    free(asked->actions);
}

static int decode_frame(const json_t *frame, struct display_request *request, struct error *err)
{
    static const char *const fields[] = {"width", "height", NULL};
    int64_t width, height;
    if (document_keys(frame, fields, err) < 0 ||
        document_integer(frame, "width", 1, EDGE_MAX, &width, err) < 0 ||
        document_integer(frame, "height", 1, EDGE_MAX, &height, err) < 0)
        return error_prefix(err, "\"frame\"");
    request->frame_width = (uint32_t)width;
    request->frame_height = (uint32_t)height;
    return 0;
}

static int decode_picture(const json_t *object, struct picture_request *request, struct error *err)
{
    static const char *const fields[] = {"format",    "quality",    "region", "max_edge",
                                         "settle_ms", "timeout_ms", NULL};
    const json_t *region = json_object_get(object, "region");
    *request = plain_request;
    if (document_keys(object, fields, err) < 0)
        return -1;
    for (int i = 0; i < MEMBERS; i++) {
        const json_t *value = json_object_get(object, members[i].name);
        if (value && !member_decode(&members[i], value, request))
            return refuse_member(&members[i], err);
    }
    if (!region)
        return 0;
    int64_t values[4];
    for (size_t i = 0; i < 4; i++) {
        const json_t *value = json_array_size(region) == 4 ? json_array_get(region, i) : NULL;
        values[i] = json_is_integer(value) ? json_integer_value(value) : -1;
    }
    return set_region(request, values, err);
}

/* {"actions": [...], "frame"?, "screenshot"?} */
static int decode_extras(const json_t *body, struct screen_actions *asked, struct error *err)
{
    static const char *const fields[] = {"actions", "frame", "screenshot", NULL};
    const json_t *frame = json_object_get(body, "frame");
    const json_t *screenshot = json_object_get(body, "screenshot");
    if (document_keys(body, fields, err) < 0 || (frame && decode_frame(frame, &asked->act.request, err) < 0))
        return -1;
    if (!screenshot)
        return 0;
    asked->act.picture = &asked->picture;
    if (decode_picture(screenshot, &asked->picture, err) < 0)
        return error_prefix(err, "\"screenshot\"");
    return 0;
}

/* Either one action object or the form with "actions". */
int screen_decode_actions(const struct exchange *exchange, struct screen_actions *asked, struct error *err)
{
    CLEANUP_JSON json_t *body = exchange_json(exchange, err);
    const json_t *array = json_object_get(body, "actions");
    size_t count = array ? json_array_size(array) : 1;
    if (!body || (array && decode_extras(body, asked, err) < 0))
        return -1;
    if (count == 0 || count > ACTIONS_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "\"actions\" must be a list of 1 to %d actions",
                         ACTIONS_MAX);
    asked->act.request.actions = asked->actions = calloc(count, sizeof *asked->actions);
    if (!asked->actions)
        return error_set(err, ERROR_INTERNAL, "cannot perform the actions: out of memory");
    for (size_t i = 0; i < count; i++) {
        if (action_decode(array ? json_array_get(array, i) : body, &asked->actions[i], err) < 0)
            return array ? error_prefix(err, "action %zu", i) : -1;
        asked->act.request.count = ++asked->count;
    }
    return 0;
}

static json_t *encode_picture(const struct picture *picture, const struct picture_request *request)
{
    CLEANUP_FREE char *data = base64_encode(picture->data, picture->size);
    json_t *object = json_pack("{s:s, s:i, s:i, s:f, s:s, s:s}", "mime", picture->mime, "width",
                               (int)picture->width, "height", (int)picture->height, "scale", picture->scale,
                               "etag", picture->etag, "data", data);
    if (request->settle_ms >= 0)
        json_object_set_new(object, "still", json_boolean(picture->still));
    if (request->has_region)
        json_object_set_new(object, "region",
                            json_pack("[i,i,i,i]", picture->region.x, picture->region.y,
                                      picture->region.width, picture->region.height));
    return object;
}

static json_t *encode_acted(const struct screen_actions *asked, const struct display_acted *acted)
{
    const struct display_outcome *outcome = &acted->outcome;
    const struct display_changes *changes = &acted->changes;
    const struct action_region *region = &changes->region;
    int64_t settled_ms =
        changes->any && changes->last_ms > outcome->ended_ms ? changes->last_ms - outcome->ended_ms : 0;
    json_t *frame = json_pack("{s:i, s:i, s:o}", "width", (int)outcome->width, "height", (int)outcome->height,
                              "etag", changes->etag[0] ? json_string(changes->etag) : json_null());
    json_t *answer =
        json_pack("{s:b, s:s, s:I, s:o, s:o, s:I}", "ok", 1, "target", "guest", "done",
                  (json_int_t)outcome->done, "frame", frame, "changed",
                  changes->any ? json_pack("[i,i,i,i]", region->x, region->y, region->width, region->height)
                               : json_null(),
                  "settled_ms", (json_int_t)settled_ms);
    if (asked->actions[asked->count - 1].kind == ACTION_CURSOR_POSITION) {
        json_object_set_new(answer, "x", json_integer(outcome->pointer_x));
        json_object_set_new(answer, "y", json_integer(outcome->pointer_y));
    }
    return answer;
}

int screen_answer_actions(struct exchange *exchange, const struct screen_actions *asked,
                          const struct display_acted *acted)
{
    CLEANUP_PICTURE struct picture *picture = acted->picture;
    json_t *answer = encode_acted(asked, acted);
    if (picture)
        json_object_set_new(answer, "screenshot", encode_picture(picture, &asked->picture));
    return answer_json(exchange, MHD_HTTP_OK, answer);
}

int screen_refuse_actions(struct exchange *exchange, const struct screen_actions *asked,
                          const struct display_acted *acted, struct error *err)
{
    size_t done = acted->outcome.done;
    if (done == asked->count)
        return error_prefix(err, "the actions were done, but the picture failed");
    if (asked->count > 1)
        error_prefix(err, "action %zu", done);
    return answer_refusal(exchange, err, json_pack("{s:I}", "done", (json_int_t)done));
}
