/*
 * Theory of operation: libmicrohttpd gives each connection a thread. A request passes, in this order: the
 * guard (Host, Origin), the tables of routes (404, 405), authorize() (401), and only then is its body looked
 * at. What the first three refuse is refused before the body is kept; the body itself is read to its end all
 * the same, up to a limit, so that a client which sends first and reads later gets its answer.
 */
#include "web/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "web/connections.h"
#include "web/exchange.h"
#include "web/guard.h"
#include "web/listener.h"
#include "web/peer_watch.h"
#include "web/request_form.h"
#include "web/shares.h"

enum {
    IDLE_TIMEOUT_S = 60,
    DISCARD_MAX = 8 << 20, /* bytes of a refused body that are read before the connection is cut */
};

struct web_server {
    struct web_options options;
    struct MHD_Daemon *daemon;
    struct peer_watch *watch;
    struct connections *connections;
    struct shares *requests; /* under way */
    uint16_t port;
    struct sockaddr_storage address;
    struct peer arriving; /* of the connection that is being accepted; the accepting thread's alone */
};

/* A request between its first line and its answer. */
struct pending {
    struct web_server *server;
    struct connection *connection; /* NULL where there was no memory for it */
    const struct route *route;
    const char *target_end;   /* of the request's first line */
    bool begun;               /* its head was looked at */
    bool authorized;          /* authorize() was called */
    bool closes;              /* the connection ends with the answer */
    struct error refused;     /* code ERROR_NONE: not refused (yet) */
    struct text_buffer allow; /* with ERROR_METHOD: every method that the path takes, "GET, POST" */
    struct exchange exchange;
    struct text_buffer body;
    size_t discarded;
};

/* --- routing --------------------------------------------------------------------------------------- */

/* Whether the path fits the pattern; the segment that stands for {id} is copied. */
static bool path_fits(const char *pattern, const char *path, char *id, size_t id_size)
{
    const char *hole = strstr(pattern, "{id}");
    size_t whole = strlen(pattern);
    if (!hole && whole > 1 && pattern[whole - 1] == '/')
        return strncmp(pattern, path, whole) == 0 && path[whole];
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

/* HEAD is answered as GET; the library leaves the body out (RFC 9110 section 9.3.2). */
static void find_route(struct pending *pending, const char *method, const char *path)
{
    const char *asked = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method;
    for (const struct route *const *table = pending->server->options.tables; *table; table++) {
        for (const struct route *route = *table; route->method; route++) {
            if (!path_fits(route->path, path, pending->exchange.id, sizeof pending->exchange.id))
                continue;
            if (strcmp(route->method, asked) == 0) {
                pending->route = route;
                return;
            }
            bool get = strcmp(route->method, MHD_HTTP_METHOD_GET) == 0;
            text_join(&pending->allow, ", ", "%s%s", route->method, get ? ", HEAD" : "");
        }
    }
    if (pending->allow.text)
        error_set(&pending->refused, ERROR_METHOD, "this path does not take %.16s", method);
    else
        exchange_no_path(&pending->refused);
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

/* What on_connection() kept; NULL where there was no memory for that. */
static struct connection *find_connection(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* --- one request ----------------------------------------------------------------------------------- */

/* The first that is known of a request: its target, as it was sent. What is returned stands for the request.
 */
static void *on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    struct pending *pending = calloc(1, sizeof *pending);
    if (!pending)
        return NULL;
    pending->server = context;
    pending->connection = find_connection(connection);
    pending->exchange.connection = connection;
    pending->target_end = target ? target + strlen(target) : NULL;
    request_form_target(target ? target : "", &pending->refused);
    return pending;
}

/* Whether the request may be looked at: by its form, and by the share of whoever sends it. */
static int check_form(struct pending *pending, const char *method, const char *version)
{
    if (!pending->refused.code)
        request_form_head(pending->exchange.connection, method, pending->target_end, version,
                          &pending->refused);
    if (!pending->refused.code && pending->connection && pending->connection->over)
        error_set(&pending->refused, ERROR_TOO_MANY,
                  "you have more than %u connections here at once: close some, or use them again",
                  pending->server->options.stranger_max);
    pending->closes = pending->refused.code != ERROR_NONE;
    return pending->closes ? -1 : 0;
}

/*
 * What the browser says of the page that the request comes from. A file of the user's leads to the view
 * (berth view --open): going there, in a window of its own, is open to every page, for what is there can do
 * nothing without a ticket.
 */
static const char *fetch_site(const struct pending *pending)
{
    const struct exchange *exchange = &pending->exchange;
    const char *mode = exchange_header(exchange, "Sec-Fetch-Mode");
    const char *destination = exchange_header(exchange, "Sec-Fetch-Dest");
    const char *landing = pending->server->options.landing;
    bool lands = landing && strcmp(exchange->path, landing) == 0 &&
                 strcmp(exchange->method, MHD_HTTP_METHOD_GET) == 0 && mode &&
                 strcmp(mode, "navigate") == 0 && destination && strcmp(destination, "document") == 0;
    return lands ? NULL : exchange_header(exchange, "Sec-Fetch-Site");
}

static void begin_request(struct pending *pending, const char *method, const char *path, const char *version)
{
    struct web_server *server = pending->server;
    struct exchange *exchange = &pending->exchange;
    pending->begun = true;
    MHD_set_connection_option(exchange->connection, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S);
    exchange->context = server->options.context;
    exchange->watch = server->watch;
    exchange->shares = server->requests;
    exchange->peer = pending->connection ? pending->connection->peer : (struct peer){0};
    exchange->method = method;
    exchange->path = path;
    if (check_form(pending, method, version) < 0 ||
        check_one_host(exchange->connection, &pending->refused) < 0 ||
        guard_check(exchange_header(exchange, MHD_HTTP_HEADER_HOST),
                    exchange_header(exchange, MHD_HTTP_HEADER_ORIGIN), fetch_site(pending),
                    &pending->refused) < 0)
        return;
    find_route(pending, method, path);
    if (pending->route && pending->route->auth != AUTH_NONE) {
        pending->authorized = true;
        server->options.authorize(exchange, pending->route, &pending->refused);
    }
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

/* What the body of the request may have, bytes. */
static size_t body_max(const struct pending *pending)
{
    const char *large = pending->server->options.large;
    bool fits = pending->route && large && strcmp(pending->route->path, large) == 0;
    return fits ? WEB_BODY_LARGE_MAX : WEB_BODY_MAX;
}

static int refuse_too_large(struct pending *pending)
{
    return error_set(&pending->refused, ERROR_TOO_LARGE, "the body is larger than %zu bytes",
                     body_max(pending));
}

/* Keeps a piece of the body, or throws it away when the request is refused. False: cut the connection. */
static bool take_body(struct pending *pending, const char *data, size_t size)
{
    if (!pending->refused.code && pending->body.size + size > body_max(pending))
        refuse_too_large(pending);
    if (pending->refused.code) {
        pending->discarded += size;
        return pending->discarded <= DISCARD_MAX;
    }
    return text_add(&pending->body, data, size);
}

/* Runs the route's handler. Its cancel is watched for only when the handler asked for it. */
static int run_handler(struct pending *pending)
{
    int answered = pending->route->handle(&pending->exchange, &pending->refused);
    exchange_unwatch(&pending->exchange);
    return answered;
}

/* Before the answer: whoever has that may ask again at once. */
static void give_share(struct pending *pending)
{
    if (pending->exchange.share[0])
        shares_give(pending->server->requests, pending->exchange.share);
    pending->exchange.share[0] = '\0';
}

/* Whoever looks after the node wants to know who was kept out. */
static void tell_refusal(struct pending *pending)
{
    enum error_code code = pending->refused.code;
    if (pending->server->options.refused &&
        (code == ERROR_UNAUTHORIZED || code == ERROR_FORBIDDEN || code == ERROR_WRONG_CODE ||
         code == ERROR_SLOW_DOWN || code == ERROR_TOO_MANY))
        pending->server->options.refused(&pending->exchange, &pending->refused);
}

static enum MHD_Result finish_request(struct pending *pending, struct MHD_Connection *connection)
{
    struct exchange *exchange = &pending->exchange;
    connections_request(pending->server->connections, pending->connection);
    exchange->body = pending->body.text ? pending->body.text : "";
    exchange->body_size = pending->body.size;
    bool failed = !pending->refused.code && run_handler(pending) < 0;
    give_share(pending);
    if (failed && exchange->response) {
        MHD_destroy_response(exchange->response);
        exchange->response = NULL;
    }
    if (!exchange->response) {
        tell_refusal(pending);
        answer_error(exchange, &pending->refused);
    }
    if (pending->refused.code == ERROR_METHOD)
        answer_header(exchange, MHD_HTTP_HEADER_ALLOW, pending->allow.text);
    if (!exchange->response)
        return MHD_NO;
    if (pending->closes)
        answer_header(exchange, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result queued = MHD_queue_response(connection, exchange->status, exchange->response);
    MHD_destroy_response(exchange->response);
    exchange->response = NULL;
    return queued;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **request)
{
    (void)context;
    struct pending *pending = *request; /* on_target() made it */
    if (!pending)
        return MHD_NO;
    if (!pending->begun) {
        begin_request(pending, method, url, version);
        int64_t announced = announced_length(&pending->exchange);
        if (!pending->refused.code && announced > (int64_t)body_max(pending))
            refuse_too_large(pending);
        /* More than we would read to its end: answer now, and the connection closes after it. */
        return announced > DISCARD_MAX || pending->closes ? finish_request(pending, connection) : MHD_YES;
    }
    if (*upload_data_size == 0)
        return finish_request(pending, connection);
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
    if (!pending->exchange.upgrade.run)
        connections_answered(pending->server->connections, pending->connection);
    if (pending->authorized && pending->server->options.completed)
        pending->server->options.completed(&pending->exchange);
    give_share(pending);
    if (pending->exchange.upgrade.release)
        pending->exchange.upgrade.release(pending->exchange.upgrade.context);
    if (pending->body.text) /* it may have held a pairing code or what somebody typed */
        explicit_bzero(pending->body.text, pending->body.size);
    free(pending->body.text);
    free(pending->allow.text);
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

static void free_server(struct web_server *server)
{
    if (server->connections)
        connections_free(server->connections);
    if (server->watch)
        peer_watch_stop(server->watch);
    shares_free(server->requests);
    free(server);
}

/* Told of each connection that comes, before anything is read from it. */
static enum MHD_Result on_accept(void *context, const struct sockaddr *address, socklen_t size)
{
    (void)size;
    struct web_server *server = context;
    uid_t uid = (uid_t)-1;
    bool known = peer_find(address, (struct sockaddr *)&server->address, &uid);
    server->arriving = peer_judge(server->options.peers, known, uid);
    if (server->arriving.kind != PEER_REFUSED)
        return MHD_YES;
    log_warning("http", "a connection of uid %u, a guest's QEMU, was refused", (unsigned)uid);
    return MHD_NO;
}

/* on_accept() comes first, on the same thread. */
static void on_connection(void *context, struct MHD_Connection *connection, void **kept,
                          enum MHD_ConnectionNotificationCode what)
{
    const struct web_server *server = context;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        connections_leave(server->connections, TAKE(*kept));
    else
        *kept = connections_enter(server->connections, &server->arriving, info->connect_fd);
}

static struct MHD_Daemon *start_daemon(struct web_server *server, int listener)
{
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
                     MHD_USE_ITC | MHD_USE_ERROR_LOG;
    if (server->address.ss_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    if (server->options.upgrades)
        flags |= MHD_ALLOW_UPGRADE;
    return MHD_start_daemon(flags, 0, on_accept, server, on_request, server, MHD_OPTION_EXTERNAL_LOGGER,
                            on_log, NULL, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_NOTIFY_COMPLETED,
                            on_completed, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
                            MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_CONNECTION_LIMIT,
                            server->options.connections_max, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

struct web_server *web_server_start(const struct web_options *options, struct error *err)
{
    CLEANUP_CLOSE int listener = listener_open(options->bind, options->port, err);
    if (listener < 0)
        return NULL;
    struct web_server *server = memory_new(sizeof *server);
    server->options = *options;
    server->requests = shares_new();
    server->port = listener_address(listener, &server->address);
    const struct connections_limits limits = {.strangers = options->strangers_max,
                                              .share = options->stranger_max,
                                              .deadline_ms =
                                                  options->request_ms ? options->request_ms : WEB_REQUEST_MS};
    server->watch = peer_watch_start(err);
    server->connections = server->watch ? connections_new(&limits, err) : NULL;
    if (!server->connections) {
        free_server(server);
        return NULL;
    }
    server->daemon = start_daemon(server, listener);
    if (!server->daemon) {
        error_set(err, ERROR_INTERNAL, "cannot serve %s port %u: threads or memory are used up",
                  options->bind, server->port);
        free_server(server);
        return NULL;
    }
    (void)TAKE_FD(listener); /* the daemon's from here on */
    return server;
}

uint16_t web_server_port(const struct web_server *server)
{
    return server->port;
}

void web_server_quiesce(struct web_server *server)
{
    int listener = MHD_quiesce_daemon(server->daemon);
    if (listener >= 0)
        close(listener);
}

void web_server_stop(struct web_server *server)
{
    MHD_stop_daemon(server->daemon);
    free_server(server);
}
