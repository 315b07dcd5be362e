#include "web/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "protocol/error_words.h"
#include "web/peer_watch.h"
#include "web/shares.h"

const char *exchange_header(const struct exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

const char *exchange_argument(const struct exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct argument_check {
    const char *const *known;
    struct error *err;
};

static enum MHD_Result check_argument(void *context, enum MHD_ValueKind kind, const char *key,
                                      const char *value)
{
    (void)kind;
    (void)value;
    struct argument_check *check = context;
    for (size_t i = 0; check->known[i]; i++)
        if (strcmp(check->known[i], key) == 0)
            return MHD_YES;
    error_set(check->err, ERROR_BAD_REQUEST, "the query argument \"%.64s\" is not known here", key);
    return MHD_NO;
}

int exchange_arguments(const struct exchange *exchange, const char *const known[], struct error *err)
{
    struct error unknown = ERROR_INIT;
    struct argument_check check = {known, &unknown};
    MHD_get_connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, check_argument, &check);
    if (unknown.code == ERROR_NONE)
        return 0;
    *err = unknown;
    return -1;
}

int exchange_no_path(struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "there is nothing at this path");
}

int exchange_socket(const struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

struct cancel *exchange_cancel(struct exchange *exchange)
{
    if (!exchange->cancel) {
        exchange->cancel = cancel_new();
        peer_watch_add(exchange->watch, exchange_socket(exchange), exchange->cancel);
    }
    return exchange->cancel;
}

int exchange_share(struct exchange *exchange, const char *name, unsigned most, struct error *err)
{
    if (!shares_take(exchange->shares, name, most))
        return error_set(err, ERROR_TOO_MANY, "%u of your requests are under way; wait for one of them",
                         most);
    snprintf(exchange->share, sizeof exchange->share, "%s", name);
    return 0;
}

void exchange_unwatch(struct exchange *exchange)
{
    if (!exchange->cancel)
        return;
    peer_watch_remove(exchange->watch, exchange_socket(exchange));
    cancel_free(TAKE(exchange->cancel));
}

json_t *exchange_json(const struct exchange *exchange, struct error *err)
{
    if (document_values(exchange->body, exchange->body_size) > WEB_JSON_MAX) {
        error_set(err, ERROR_TOO_LARGE, "the body holds more than %d values", WEB_JSON_MAX);
        return NULL;
    }
    return document_parse(exchange->body, exchange->body_size, err);
}

/* What every answer carries: it is for this client alone, and nothing is to be guessed about it. */
static void set_response(struct exchange *exchange, unsigned status, struct MHD_Response *response)
{
    exchange->status = status;
    exchange->response = response;
    answer_header(exchange, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    answer_header(exchange, "X-Content-Type-Options", "nosniff");
    answer_header(exchange, "Cross-Origin-Resource-Policy", "same-origin");
    answer_header(exchange, "Referrer-Policy", "no-referrer");
    answer_header(exchange, "X-Frame-Options", "DENY");
}

int answer_json(struct exchange *exchange, unsigned status, json_t *document)
{
    char *text = document_text(document);
    json_decref(document);
    set_response(exchange, status,
                 MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
    answer_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
    return 0;
}

int answer_empty(struct exchange *exchange, unsigned status)
{
    set_response(exchange, status, MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
    return 0;
}

int answer_bytes(struct exchange *exchange, const char *type, void *data, size_t size)
{
    set_response(exchange, MHD_HTTP_OK, MHD_create_response_from_buffer(size, data, MHD_RESPMEM_MUST_FREE));
    answer_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return 0;
}

void answer_header(struct exchange *exchange, const char *name, const char *value)
{
    if (exchange->response)
        MHD_add_response_header(exchange->response, name, value);
}

int answer_shared(struct exchange *exchange, const char *type, const void *data, size_t size,
                  void (*release)(void *owner), void *owner)
{
    set_response(exchange, MHD_HTTP_OK,
                 MHD_create_response_from_buffer_with_free_callback_cls(size, (void *)data, release, owner));
    MHD_set_connection_option(exchange->connection, MHD_CONNECTION_OPTION_TIMEOUT, WEB_TAKE_S);
    answer_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    return 0;
}

/* The exchange lives until its request is completed, which is after the connection was taken over. */
static void on_upgrade(void *context, struct MHD_Connection *connection, void *request, const char *early,
                       size_t early_size, MHD_socket socket, struct MHD_UpgradeResponseHandle *handle)
{
    (void)connection;
    (void)request;
    const struct upgrade *upgrade = &((struct exchange *)context)->upgrade;
    upgrade->run(upgrade->context, socket, early, early_size);
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

int answer_upgrade(struct exchange *exchange, const struct upgrade *upgrade, struct error *err)
{
    struct MHD_Response *response = MHD_create_response_for_upgrade(on_upgrade, exchange);
    if (!response)
        return error_set(err, ERROR_INTERNAL, "cannot hand the connection over: out of memory");
    exchange->upgrade = *upgrade;
    set_response(exchange, MHD_HTTP_SWITCHING_PROTOCOLS, response);
    answer_header(exchange, MHD_HTTP_HEADER_UPGRADE, upgrade->protocol); /* the library adds Connection */
    return 0;
}

void answer_error(struct exchange *exchange, const struct error *err)
{
    answer_refusal(exchange, err, NULL);
}

int answer_refusal(struct exchange *exchange, const struct error *err, json_t *fields)
{
    unsigned status = protocol_error_status(err->code);
    json_t *document = protocol_error_encode(err);
    json_object_update_new(document, fields);
    answer_json(exchange, status, document);
    if (status == MHD_HTTP_UNAUTHORIZED)
        answer_header(exchange, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    if (err->code == ERROR_SLOW_DOWN)
        answer_header(exchange, MHD_HTTP_HEADER_RETRY_AFTER, "12");
    if (err->code == ERROR_ENDING || err->code == ERROR_HYPERVISOR)
        answer_header(exchange, MHD_HTTP_HEADER_RETRY_AFTER, "5");
    return 0;
}
