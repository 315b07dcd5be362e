#include "http/routes_leases.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/memory.h"
#include "base/text.h"
#include "http/http_context.h"

enum { HISTORY_DEFAULT = 100, HISTORY_MAX = 10000 };

static int post_lease(struct exchange *exchange, struct error *err)
{
    struct lease_request request;
    struct lease_document lease;
    CLEANUP_JSON json_t *body = exchange_json(exchange, err);
    if (!body || lease_request_decode(body, &request, err) < 0)
        return -1;
    if (leases_create(http_context(exchange)->leases, &request, &exchange->grant, &lease, err) < 0)
        return -1;
    return answer_json(exchange, MHD_HTTP_CREATED, lease_encode(&lease));
}

/* "?all=true", with "limit" or without: the ended ones too, from the journal. */
static int answer_history(struct exchange *exchange, struct error *err)
{
    const char *limit = exchange_argument(exchange, "limit");
    int64_t max = HISTORY_DEFAULT;
    if (limit && !text_to_integer(limit, 1, HISTORY_MAX, &max))
        return error_set(err, ERROR_BAD_REQUEST, "\"limit\" must be a whole number from 1 to %d",
                         HISTORY_MAX);
    CLEANUP_FREE struct lease_document *found = NULL;
    size_t count;
    if (leases_history(http_context(exchange)->leases, &exchange->grant, (size_t)max, &found, &count, err) <
        0)
        return -1;
    json_t *documents = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(documents, lease_encode(&found[i]));
    return answer_json(exchange, MHD_HTTP_OK, documents);
}

static int get_leases(struct exchange *exchange, struct error *err)
{
    static const char *const known[] = {"all", "limit", NULL};
    const char *all = exchange_argument(exchange, "all");
    if (exchange_arguments(exchange, known, err) < 0)
        return -1;
    if (all && strcmp(all, "true") != 0 && strcmp(all, "false") != 0)
        return error_set(err, ERROR_BAD_REQUEST, "\"all\" must be true or false");
    if (all && all[0] == 't')
        return answer_history(exchange, err);
    size_t max = leases_berths(http_context(exchange)->leases);
    CLEANUP_FREE struct lease_document *found = memory_array(max, sizeof *found);
    size_t count = leases_list(http_context(exchange)->leases, &exchange->grant, found, max);
    json_t *documents = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(documents, lease_encode(&found[i]));
    return answer_json(exchange, MHD_HTTP_OK, documents);
}

static int get_lease(struct exchange *exchange, struct error *err)
{
    struct lease_document lease;
    if (leases_get(http_context(exchange)->leases, exchange->id, &exchange->grant, &lease, err) < 0)
        return -1;
    return answer_json(exchange, MHD_HTTP_OK, lease_encode(&lease));
}

static int delete_lease(struct exchange *exchange, struct error *err)
{
    struct lease_receipt ended;
    if (leases_end(http_context(exchange)->leases, exchange->id, &exchange->grant, REASON_GRACEFUL, &ended,
                   err) < 0)
        return -1;
    return answer_json(exchange, MHD_HTTP_OK, receipt_encode(&ended));
}

static int get_receipt(struct exchange *exchange, struct error *err)
{
    struct lease_receipt ended;
    if (leases_receipt(http_context(exchange)->leases, exchange->id, &exchange->grant, &ended, err) < 0)
        return -1;
    return answer_json(exchange, MHD_HTTP_OK, receipt_encode(&ended));
}

static int get_view(struct exchange *exchange, struct error *err)
{
    static const char *const known[] = {"mode", NULL};
    const char *word = exchange_argument(exchange, "mode");
    enum view_mode mode = VIEW_CONTROL;
    struct leases_ticket ticket;
    char url[LEASE_URL_SIZE];
    if (exchange_arguments(exchange, known, err) < 0)
        return -1;
    if (word && !view_mode_from(word, &mode))
        return error_set(err, ERROR_BAD_REQUEST, "\"mode\" must be control or watch");
    if (leases_view(http_context(exchange)->leases, exchange->id, &exchange->grant, mode, &ticket, err) < 0)
        return -1;
    lease_viewer_url(ticket.port, url);
    int answered = answer_json(
        exchange, MHD_HTTP_OK,
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "viewer_url", url, "target", "guest", "token",
                  "open viewer_url with ?token= and the ticket, good once and for a minute; or send it, or "
                  "this pairing token, as Authorization: Bearer",
                  "ticket", ticket.ticket, "mode", view_mode_word(mode), "expires_in_s", VIEW_TICKET_S));
    explicit_bzero(&ticket, sizeof ticket);
    return answered;
}

const struct route routes_leases[] = {
    {"POST", "/v1/leases", AUTH_LEASE, post_lease},
    {"GET", "/v1/leases", AUTH_LEASE, get_leases},
    {"GET", "/v1/leases/{id}", AUTH_LEASE, get_lease},
    {"DELETE", "/v1/leases/{id}", AUTH_LEASE, delete_lease},
    {"GET", "/v1/leases/{id}/receipt", AUTH_LEASE, get_receipt},
    {"GET", "/v1/leases/{id}/view", AUTH_LEASE, get_view},
    {0},
};
