/*
 * Theory of operation: libmicrohttpd gives each connection a thread. A request passes, in this order: the
 * guard (Host, Origin), the table of routes (404, 405), the token (401), and only then is its body looked at.
 * What the first three refuse is refused before the body is kept; the body itself is read to its end all the
 * same, up to a limit, so that a client which sends first and reads later gets its answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "http/exchange.h"
#include "http/guard.h"

enum {
    CONNECTIONS_MAX = 128,
    IDLE_TIMEOUT_S = 60,
    DISCARD_MAX = 8 << 20, /* bytes of a refused body that are read before the connection is cut */
};

struct http_server {
    struct http_context context;
    struct MHD_Daemon *daemon;
    uint16_t port;
};

/* A request between its first line and its answer. */
struct pending {
    const struct route *route;
    struct error refused; /* code ERROR_NONE: not refused (yet) */
    char allow[64];       /* with ERROR_METHOD: every method that the path takes, "GET, POST" */
    struct exchange exchange;
    char *body;
    size_t body_size, body_room, discarded;
};

/* --- routing --------------------------------------------------------------------------------------- */

/* Whether the path fits the pattern; the segment that stands for {id} is copied. */
static bool path_fits(const char *pattern, const char *path, char *id, size_t id_size)
{
    const char *hole = strstr(pattern, "{id}");
    if (!hole)
        return strcmp(pattern, path) == 0;
    size_t before = (size_t)(hole - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    size_t length = strcspn(path + before, "/");
    if (length == 0 || length >= id_size || strcmp(path + before + length, hole + strlen("{id}")) != 0)
        return false;
    snprintf(id, id_size, "%.*s", (int)length, path + before);
    return true;
}

static void find_route(struct pending *pending, const char *method, const char *path)
{
    static const struct route *const tables[] = {routes_node, routes_pairing, routes_leases, routes_screen};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (const struct route *route = tables[t]; route->method; route++) {
            if (!path_fits(route->path, path, pending->exchange.id, sizeof pending->exchange.id))
                continue;
            if (strcmp(route->method, method) == 0) {
                pending->route = route;
                return;
            }
            size_t used = strlen(pending->allow);
            snprintf(pending->allow + used, sizeof pending->allow - used, "%s%s", used ? ", " : "",
                     route->method);
        }
    }
    if (pending->allow[0])
        error_set(&pending->refused, ERROR_METHOD, "this path does not take %.16s", method);
    else
        error_set(&pending->refused, ERROR_NOT_FOUND, "there is nothing at this path");
}

static void check_token(struct pending *pending)
{
    struct exchange *exchange = &pending->exchange;
    const char *header = exchange_header(exchange, MHD_HTTP_HEADER_AUTHORIZATION);
    if (pending->route->auth == AUTH_NONE)
        return;
    if (!header || strncasecmp(header, "Bearer ", 7) != 0)
        error_set(&pending->refused, ERROR_UNAUTHORIZED,
                  "this needs a token (Authorization: Bearer ...); pair first: berth pair");
    else if (!pairing_check(exchange->context->pairing, header + 7, &exchange->grant))
        error_set(&pending->refused, ERROR_UNAUTHORIZED,
                  "this token is not known here; pair again: berth pair");
    else if (!(exchange->grant.capabilities & pending->route->auth))
        error_set(&pending->refused, ERROR_UNAUTHORIZED, "this token has not the capability \"%s\"",
                  pending->route->auth == AUTH_OPERATOR ? "operator" : "lease");
}

static enum MHD_Result count_host(void *context, enum MHD_ValueKind kind, const char *key, const char *value)
{
    (void)kind;
    (void)value;
    if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0)
        ++*(int *)context;
    return MHD_YES;
}

/* Two Hosts are two opinions about whom the request is for (RFC 9112 section 3.2): the guard would see one.
 */
static int check_one_host(struct MHD_Connection *connection, struct error *err)
{
    int hosts = 0;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_host, &hosts);
    return hosts <= 1 ? 0 : error_set(err, ERROR_BAD_REQUEST, "the request has more than one Host header");
}

/* --- one request ----------------------------------------------------------------------------------- */

static struct pending *begin(struct http_server *server, struct MHD_Connection *connection,
                             const char *method, const char *path)
{
    struct pending *pending = calloc(1, sizeof *pending);
    if (!pending)
        return NULL;
    struct exchange *exchange = &pending->exchange;
    exchange->context = &server->context;
    exchange->connection = connection;
    if (check_one_host(connection, &pending->refused) < 0 ||
        guard_check(exchange_header(exchange, MHD_HTTP_HEADER_HOST),
                    exchange_header(exchange, MHD_HTTP_HEADER_ORIGIN),
                    exchange_header(exchange, "Sec-Fetch-Site"), &pending->refused) < 0)
        return pending;
    find_route(pending, method, path);
    if (pending->route)
        check_token(pending);
    return pending;
}

/* The length that the request announces for its body, at most INT64_MAX; 0 when it does not (chunked, none).
 */
static int64_t announced_length(const struct exchange *exchange)
{
    const char *header = exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length = 0;
    if (header && !text_to_integer(header, 0, INT64_MAX, &length))
        length = INT64_MAX; /* libmicrohttpd has refused what is no number: this one is too large for us */
    return length;
}

static int refuse_too_large(struct pending *pending)
{
    return error_set(&pending->refused, ERROR_TOO_LARGE, "the body is larger than %d bytes", HTTP_BODY_MAX);
}

/* Keeps a piece of the body, or throws it away when the request is refused. False: cut the connection. */
static bool take_body(struct pending *pending, const char *data, size_t size)
{
    if (!pending->refused.code && pending->body_size + size > HTTP_BODY_MAX)
        refuse_too_large(pending);
    if (pending->refused.code) {
        pending->discarded += size;
        return pending->discarded <= DISCARD_MAX;
    }
    if (pending->body_size + size + 1 > pending->body_room) {
        size_t room = (pending->body_size + size + 1) * 2;
        char *larger = realloc(pending->body, room);
        if (!larger)
            return false;
        pending->body = larger;
        pending->body_room = room;
    }
    memcpy(pending->body + pending->body_size, data, size);
    pending->body_size += size;
    pending->body[pending->body_size] = '\0';
    return true;
}

static enum MHD_Result finish(struct pending *pending, struct MHD_Connection *connection)
{
    struct exchange *exchange = &pending->exchange;
    exchange->body = pending->body ? pending->body : "";
    exchange->body_size = pending->body_size;
    if (!pending->refused.code && pending->route->handle(exchange, &pending->refused) < 0 &&
        exchange->response) {
        MHD_destroy_response(exchange->response);
        exchange->response = NULL;
    }
    if (!exchange->response)
        answer_error(exchange, &pending->refused);
    if (pending->refused.code == ERROR_METHOD)
        answer_header(exchange, MHD_HTTP_HEADER_ALLOW, pending->allow);
    if (!exchange->response)
        return MHD_NO;
    enum MHD_Result queued = MHD_queue_response(connection, exchange->status, exchange->response);
    MHD_destroy_response(exchange->response);
    exchange->response = NULL;
    return queued;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **request)
{
    (void)version;
    if (!*request) {
        *request = begin(context, connection, method, url);
        if (!*request)
            return MHD_NO;
        struct pending *fresh = *request;
        int64_t announced = announced_length(&fresh->exchange);
        if (!fresh->refused.code && announced > HTTP_BODY_MAX)
            refuse_too_large(fresh);
        /* More than we would read to its end: answer now, and the connection closes after it. */
        return announced > DISCARD_MAX ? finish(fresh, connection) : MHD_YES;
    }
    struct pending *pending = *request;
    if (*upload_data_size == 0)
        return finish(pending, connection);
    bool kept = take_body(pending, upload_data, *upload_data_size);
    *upload_data_size = 0;
    return kept ? MHD_YES : MHD_NO;
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request,
                         enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)connection;
    (void)code;
    struct pending *pending = *request;
    if (!pending)
        return;
    if (pending->body) /* it may have held a pairing code or what somebody typed */
        explicit_bzero(pending->body, pending->body_size);
    free(pending->body);
    free(pending);
    *request = NULL;
}

__attribute__((format(printf, 2, 0))) static void on_log(void *context, const char *format, va_list args)
{
    (void)context;
    char message[512];
    vsnprintf(message, sizeof message, format, args);
    log_debug("http", "%s", message);
}

/* --- the daemon ------------------------------------------------------------------------------------ */

static int resolve(const char *bind, uint16_t port, struct sockaddr_storage *address, struct error *err)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *found;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int failed = getaddrinfo(bind, service, &hints, &found);
    if (failed)
        return error_set(err, ERROR_INTERNAL, "%s is no address: %s", bind, gai_strerror(failed));
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

struct http_server *http_server_start(const struct http_context *context, uint16_t port, struct error *err)
{
    struct sockaddr_storage address = {0};
    if (resolve(context->bind, port, &address, err) < 0)
        return NULL;
    struct http_server *server = calloc(1, sizeof *server);
    if (!server) {
        error_set(err, ERROR_INTERNAL, "cannot start the HTTP server: out of memory");
        return NULL;
    }
    server->context = *context;
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                     MHD_USE_ITC | MHD_USE_ERROR_LOG;
    if (address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    server->daemon = MHD_start_daemon(
        flags, port, NULL, NULL, on_request, server, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
    if (!server->daemon) {
        error_set_errno(err, ERROR_INTERNAL, errno,
                        "cannot listen on %s port %u (is another node running there?)", context->bind, port);
        free(server);
        return NULL;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    server->port = info ? info->port : port;
    return server;
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

void http_server_quiesce(struct http_server *server)
{
    int listener = MHD_quiesce_daemon(server->daemon);
    if (listener >= 0)
        close(listener);
}

void http_server_stop(struct http_server *server)
{
    MHD_stop_daemon(server->daemon);
    free(server);
}
