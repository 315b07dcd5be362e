/* /v1/leases/{id}/screenshot and /v1/leases/{id}/actions */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "display/picture.h"
#include "http/exchange.h"
#include "protocol/action.h"

enum { CAPTURE_TIMEOUT_MS = 5000, ACTIONS_MAX = 256 };

static void frame_headers(struct exchange *exchange, const struct display_frame *frame)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, frame->width);
    answer_header(exchange, "X-Frame-Width", number);
    snprintf(number, sizeof number, "%" PRIu32, frame->height);
    answer_header(exchange, "X-Frame-Height", number);
}

/* "format" and "quality" of the query; anything else is refused: who asks for a region must not get the
 * whole. */
static int read_format(const struct exchange *exchange, bool *jpeg, int64_t *quality, struct error *err)
{
    static const char *const known[] = {"format", "quality", NULL};
    const char *format = exchange_argument(exchange, "format");
    const char *asked = exchange_argument(exchange, "quality");
    if (exchange_arguments(exchange, known, err) < 0)
        return -1;
    *quality = 80;
    *jpeg = format && strcmp(format, "jpeg") == 0;
    if (format && !*jpeg && strcmp(format, "png") != 0)
        return error_set(err, ERROR_BAD_REQUEST, "\"format\" must be png or jpeg");
    if (asked && !text_to_integer(asked, 1, 100, quality))
        return error_set(err, ERROR_BAD_REQUEST, "\"quality\" must be a whole number from 1 to 100");
    return 0;
}

static int screenshot(struct exchange *exchange, struct error *err)
{
    bool jpeg;
    int64_t quality;
    unsigned char *data;
    size_t size;
    if (read_format(exchange, &jpeg, &quality, err) < 0)
        return -1;
    CLEANUP_FRAME struct display_frame *frame =
        leases_capture(exchange->context->leases, exchange->id, &exchange->grant, CAPTURE_TIMEOUT_MS, err);
    if (!frame)
        return -1;
    if (jpeg ? picture_jpeg(frame, (int)quality, &data, &size, err) < 0
             : picture_png(frame, &data, &size, err) < 0)
        return -1;
    answer_bytes(exchange, jpeg ? "image/jpeg" : "image/png", data, size);
    frame_headers(exchange, frame);
    return 0;
}

/* The actions of one request, cleared at the end of the scope. */
struct action_list {
    struct action *actions;
    size_t count;
};

static void clear_list(struct action_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        action_clear(&list->actions[i]);
    free(list->actions);
}

/* Either one action object or {"actions": [...]}. All are decoded before any is performed. */
static int decode_list(const json_t *body, struct action_list *list, struct error *err)
{
    const json_t *array = json_object_get(body, "actions");
    static const char *const fields[] = {"actions", NULL};
    size_t count = array ? json_array_size(array) : 1;
    if (array && (document_keys(body, fields, err) < 0))
        return -1;
    if (count == 0 || count > ACTIONS_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "\"actions\" must be a list of 1 to %d actions",
                         ACTIONS_MAX);
    list->actions = calloc(count, sizeof *list->actions);
    if (!list->actions)
        return error_set(err, ERROR_INTERNAL, "cannot perform the actions: out of memory");
    for (size_t i = 0; i < count; i++) {
        if (action_decode(array ? json_array_get(array, i) : body, &list->actions[i], err) < 0)
            return array ? error_prefix(err, "action %zu", i) : -1;
        list->count++;
    }
    return 0;
}

static json_t *encode_outcome(const struct display_outcome *outcome, const struct action_list *list)
{
    json_t *answer = json_pack("{s:b, s:s, s:I, s:{s:i, s:i}}", "ok", 1, "target", "guest", "done",
                               (json_int_t)outcome->done, "frame", "width", (int)outcome->width, "height",
                               (int)outcome->height);
    if (list->actions[list->count - 1].kind == ACTION_CURSOR_POSITION) {
        json_object_set_new(answer, "x", json_integer(outcome->pointer_x));
        json_object_set_new(answer, "y", json_integer(outcome->pointer_y));
    }
    return answer;
}

static int actions(struct exchange *exchange, struct error *err)
{
    CLEANUP(clear_list) struct action_list list = {0};
    struct display_outcome outcome = {0};
    struct lease_document lease;
    if (leases_get(exchange->context->leases, exchange->id, &exchange->grant, &lease, err) < 0)
        return -1;
    CLEANUP_JSON json_t *body = exchange_json(exchange, err);
    if (!body || decode_list(body, &list, err) < 0)
        return -1;
    if (leases_perform(exchange->context->leases, exchange->id, &exchange->grant, list.actions, list.count,
                       &outcome, err) < 0)
        return list.count > 1 ? error_prefix(err, "action %zu", outcome.done) : -1;
    return answer_json(exchange, MHD_HTTP_OK, encode_outcome(&outcome, &list));
}

const struct route routes_screen[] = {
    {"GET", "/v1/leases/{id}/screenshot", AUTH_LEASE, screenshot},
    {"POST", "/v1/leases/{id}/actions", AUTH_LEASE, actions},
    {0},
};
