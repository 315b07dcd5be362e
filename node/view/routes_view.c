#include "view/routes_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "view/handshake.h"
#include "view/view_inside.h"
#include "view/viewer.h"
#include "web/screen_answers.h"

/* Which credentials a route takes. Beside them each takes a pairing token that reaches the lease. */
enum {
    BY_TICKET = 1,  /* Authorization: Bearer TICKET */
    BY_SECRET = 2,  /* Authorization: Bearer SECRET */
    BY_QUERY = 4,   /* ?token=TICKET, ?token=PAIRING_TOKEN; never a secret, which has no business in a URL */
    BY_SOCKET = 8,  /* Sec-WebSocket-Protocol: berthos.SECRET */
    TO_CONTROL = 16 /* and in control mode alone */
};
#define TAKES(...) ((enum route_auth)(__VA_ARGS__))

static const char unauthorized[] = "this needs a ticket, the page's own secret, or a pairing token that "
                                   "reaches the lease; get a fresh link: berth view";

/* Whom a request comes from: exchange->session. */
struct caller {
    struct pass pass;
    char ticket[VIEW_SECRET_SIZE]; /* is to be used up; "" when it is no ticket */
};

static struct view *view_of(const struct exchange *exchange)
{
    return exchange->context;
}

static const struct caller *caller_of(const struct exchange *exchange)
{
    return exchange->session;
}

/* --- who may --------------------------------------------------------------------------------------- */

static bool by_token(struct view *view, const char *text, struct caller *caller)
{
    struct pairing_grant grant;
    if (!pairing_check(view->options.pairing, text, &grant) || !pairing_grant_reaches(&grant, view->owner))
        return false;
    caller->pass.mode = VIEW_CONTROL;
    memcpy(caller->pass.grant, grant.id, sizeof caller->pass.grant);
    return true;
}

static bool by_ticket(struct view *view, const char *text, struct caller *caller)
{
    if (!tickets_look(view->tickets, text, clock_monotonic_ms(), &caller->pass))
        return false;
    snprintf(caller->ticket, sizeof caller->ticket, "%s", text);
    return true;
}

static bool by_secret(struct view *view, const char *text, struct caller *caller)
{
    return tickets_session(view->tickets, text, clock_monotonic_ms(), &caller->pass);
}

/* A request may carry Sec-WebSocket-Protocol more than once (RFC 6455 section 4.1). */
struct protocols {
    bool binary;
    char secret[VIEW_SECRET_SIZE];
};

static enum MHD_Result read_protocols(void *context, enum MHD_ValueKind kind, const char *key,
                                      const char *value)
{
    struct protocols *protocols = context;
    (void)kind;
    if (strcasecmp(key, MHD_HTTP_HEADER_SEC_WEBSOCKET_PROTOCOL) != 0)
        return MHD_YES;
    protocols->binary = protocols->binary || handshake_lists(value, "binary");
    if (!protocols->secret[0])
        handshake_find(value, "berthos.", protocols->secret, sizeof protocols->secret);
    return MHD_YES;
}

static void protocols_of(const struct exchange *exchange, struct protocols *protocols)
{
    *protocols = (struct protocols){0};
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, read_protocols, protocols);
}

static bool identify_caller(const struct exchange *exchange, unsigned takes, struct caller *caller)
{
    struct view *view = view_of(exchange);
    const char *header = exchange_header(exchange, MHD_HTTP_HEADER_AUTHORIZATION);
    const char *query = takes & BY_QUERY ? exchange_argument(exchange, "token") : NULL;
    if (header && strncasecmp(header, "Bearer ", 7) == 0) {
        header += 7;
        return by_token(view, header, caller) || (takes & BY_TICKET && by_ticket(view, header, caller)) ||
               (takes & BY_SECRET && by_secret(view, header, caller));
    }
    if (query)
        return by_token(view, query, caller) || by_ticket(view, query, caller);
    if (takes & BY_SOCKET) {
        struct protocols protocols;
        protocols_of(exchange, &protocols);
        return by_secret(view, protocols.secret, caller);
    }
    return false;
}

int routes_authorize(struct exchange *exchange, const struct route *route, struct error *err)
{
    struct caller *caller = memory_new(sizeof *caller);
    exchange->session = caller;
    struct view *view = view_of(exchange);
    pthread_mutex_lock(&view->mutex);
    view->requests++;
    pthread_mutex_unlock(&view->mutex);
    unsigned takes = (unsigned)route->auth;
    if (!identify_caller(exchange, takes, caller))
        return error_set(err, ERROR_UNAUTHORIZED, "%s", unauthorized);
    if (takes & TO_CONTROL && caller->pass.mode != VIEW_CONTROL)
        return error_set(err, ERROR_FORBIDDEN, "this link is for watching; acting needs one for control");
    return 0;
}

void routes_completed(struct exchange *exchange)
{
    struct view *view = view_of(exchange);
    if (!exchange->session)
        return;
    free(TAKE(exchange->session));
    LOCK_SCOPE(&view->mutex);
    view->requests--;
    pthread_cond_broadcast(&view->answered);
}

/* A ticket is good once: whoever comes second with it has none. */
static int use_up(const struct exchange *exchange, struct error *err)
{
    struct pass pass;
    const struct caller *caller = caller_of(exchange);
    if (!caller->ticket[0] ||
        tickets_take(view_of(exchange)->tickets, caller->ticket, clock_monotonic_ms(), &pass))
        return 0;
    return error_set(err, ERROR_UNAUTHORIZED, "%s", unauthorized);
}

/* The caller's mode, or the narrower one of ?mode=. */
static int read_mode(const struct exchange *exchange, enum view_mode *mode, struct error *err)
{
    const char *word = exchange_argument(exchange, "mode");
    enum view_mode asked;
    *mode = caller_of(exchange)->pass.mode;
    if (!word)
        return 0;
    if (!view_mode_from(word, &asked))
        return error_set(err, ERROR_BAD_REQUEST, "\"mode\" must be control or watch");
    if (asked == VIEW_CONTROL && *mode == VIEW_WATCH)
        return error_set(err, ERROR_FORBIDDEN, "this link is for watching; acting needs one for control");
    *mode = asked;
    return 0;
}

/* --- the page -------------------------------------------------------------------------------------- */

/*
 * What a page may do: load from here, draw pictures it made itself, talk to here. The address is spelt out
 * for browsers whose 'self' leaves WebSockets out; Host is known to be loopback by name and port (guard.h).
 */
static void add_policy(struct exchange *exchange)
{
    CLEANUP_FREE char *policy =
        text_format("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
                    "connect-src 'self' ws://%s; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                    exchange_header(exchange, MHD_HTTP_HEADER_HOST));
    answer_header(exchange, "Content-Security-Policy", policy);
    answer_header(exchange, "Cross-Origin-Opener-Policy", "same-origin");
}

static int answer_asset(struct exchange *exchange, const char *name, struct error *err)
{
    CLEANUP_FREE char *data = NULL;
    size_t size;
    const char *type;
    if (assets_read(view_of(exchange)->assets, name, &data, &size, &type, err) < 0)
        return -1;
    answer_bytes(exchange, type, TAKE(data), size);
    add_policy(exchange);
    return 0;
}

/* The page tells nothing of the lease, so everybody gets it; the status says whether its link is good. */
static int get_page(struct exchange *exchange, struct error *err)
{
    struct caller caller = {0};
    if (answer_asset(exchange, "page.html", err) < 0)
        return -1;
    if (identify_caller(exchange, BY_TICKET | BY_SECRET | BY_QUERY, &caller))
        return 0;
    exchange->status = MHD_HTTP_UNAUTHORIZED;
    answer_header(exchange, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    return 0;
}

static int get_asset(struct exchange *exchange, struct error *err)
{
    return answer_asset(exchange, exchange->path + strlen("/assets/"), err);
}

/* --- the session ----------------------------------------------------------------------------------- */

/* What both documents have in common. */
static json_t *describe_view(const struct view *view, enum view_mode mode)
{
    json_t *object = json_pack("{s:s, s:s, s:n, s:n}", "lease_id", view->lease_id, "mode",
                               view_mode_word(mode), "expires_at", "seconds_left");
    if (view->options.expires_ms) {
        char text[CLOCK_TEXT_SIZE];
        int64_t left_ms = view->options.expires_boot_ms - clock_boottime_ms();
        clock_format(view->options.expires_ms, text);
        json_object_set_new(object, "expires_at", json_string(text));
        json_object_set_new(object, "seconds_left", json_integer(left_ms > 0 ? (left_ms + 999) / 1000 : 0));
    }
    return object;
}

static int post_session(struct exchange *exchange, struct error *err)
{
    static const char *const known[] = {"mode", NULL};
    struct view *view = view_of(exchange);
    struct pass pass = caller_of(exchange)->pass;
    char secret[VIEW_SECRET_SIZE];
    if (exchange_arguments(exchange, known, err) < 0 || read_mode(exchange, &pass.mode, err) < 0 ||
        use_up(exchange, err) < 0)
        return -1;
    tickets_open_session(view->tickets, &pass, clock_monotonic_ms(), secret);
    json_t *document = describe_view(view, pass.mode);
    json_object_set_new(document, "secret", json_string(secret));
    explicit_bzero(secret, sizeof secret);
    return answer_json(exchange, MHD_HTTP_OK, document);
}

static int get_status(struct exchange *exchange, struct error *err)
{
    (void)err;
    struct view *view = view_of(exchange);
    json_t *document = describe_view(view, caller_of(exchange)->pass.mode);
    json_object_set_new(document, "state", json_string("live"));
    json_object_set_new(document, "viewers", json_integer((json_int_t)audience_count(view->audience)));
    return answer_json(exchange, MHD_HTTP_OK, document);
}

/* --- looking and acting ---------------------------------------------------------------------------- */

static int get_screenshot(struct exchange *exchange, struct error *err)
{
    const struct view_options *options = &view_of(exchange)->options;
    struct picture_request request;
    if (use_up(exchange, err) < 0 || screen_decode_screenshot(exchange, &request, err) < 0)
        return -1;
    struct picture *picture = options->screenshot(options->context, &request, exchange_cancel(exchange), err);
    return picture ? screen_answer_screenshot(exchange, &request, picture) : -1;
}

static int post_action(struct exchange *exchange, struct error *err)
{
    const struct view_options *options = &view_of(exchange)->options;
    CLEANUP_SCREEN_ACTIONS struct screen_actions asked = {0};
    struct display_acted acted = {0};
    if (use_up(exchange, err) < 0 || screen_decode_actions(exchange, &asked, err) < 0)
        return -1;
    if (options->act(options->context, &asked.act, exchange_cancel(exchange), &acted, err) < 0)
        return screen_refuse_actions(exchange, &asked, &acted, err);
    return screen_answer_actions(exchange, &asked, &acted);
}

/* --- viewers --------------------------------------------------------------------------------------- */

static void run_viewer(void *context, int socket, const char *early, size_t early_size)
{
    viewer_run(context, socket, early, early_size);
}

static void release_viewer(void *context)
{
    viewer_free(context);
}

static int get_websockify(struct exchange *exchange, struct error *err)
{
    struct view *view = view_of(exchange);
    const struct view_options *options = &view->options;
    struct handshake handshake = {
        .upgrade = exchange_header(exchange, MHD_HTTP_HEADER_UPGRADE),
        .connection = exchange_header(exchange, MHD_HTTP_HEADER_CONNECTION),
        .version = exchange_header(exchange, MHD_HTTP_HEADER_SEC_WEBSOCKET_VERSION),
        .key = exchange_header(exchange, MHD_HTTP_HEADER_SEC_WEBSOCKET_KEY),
    };
    char accept[HANDSHAKE_ACCEPT_SIZE];
    enum view_mode mode;
    struct protocols protocols;
    if (read_mode(exchange, &mode, err) < 0)
        return -1;
    if (handshake_check(&handshake, accept, err) < 0) {
        answer_error(exchange, err);
        answer_header(exchange, MHD_HTTP_HEADER_SEC_WEBSOCKET_VERSION, "13"); /* RFC 6455 section 4.4 */
        return 0;
    }
    CLEANUP(cleanup_viewer)
    struct viewer *viewer =
        viewer_new(view->audience, caller_of(exchange)->pass.grant, exchange_socket(exchange), err);
    if (!viewer)
        return -1;
    /* a revocation that came before the place was taken has not seen this viewer */
    if (tickets_revoked(view->tickets, caller_of(exchange)->pass.grant))
        return error_set(err, ERROR_UNAUTHORIZED, "%s", unauthorized);
    int fd = options->open_display(options->context, err);
    if (fd < 0)
        return -1;
    viewer_connect(viewer, fd, mode == VIEW_WATCH, options);
    if (use_up(exchange, err) < 0)
        return -1;
    const struct upgrade upgrade = {
        .protocol = "websocket", .run = run_viewer, .release = release_viewer, .context = viewer};
    if (answer_upgrade(exchange, &upgrade, err) < 0)
        return -1;
    viewer = NULL; /* the upgrade's now */
    protocols_of(exchange, &protocols);
    answer_header(exchange, MHD_HTTP_HEADER_SEC_WEBSOCKET_ACCEPT, accept);
    if (protocols.binary)
        answer_header(exchange, MHD_HTTP_HEADER_SEC_WEBSOCKET_PROTOCOL, "binary");
    return 0;
}

const struct route routes_view[] = {
    {"GET", "/", AUTH_NONE, get_page},
    {"GET", "/vnc.html", AUTH_NONE, get_page},
    {"GET", "/assets/", AUTH_NONE, get_asset},
    {"POST", "/session", TAKES(BY_TICKET), post_session},
    {"GET", "/status", TAKES(BY_SECRET), get_status},
    {"GET", "/screenshot", TAKES(BY_TICKET | BY_SECRET | BY_QUERY), get_screenshot},
    {"POST", "/action", TAKES(BY_TICKET | BY_SECRET | BY_QUERY | TO_CONTROL), post_action},
    {"GET", "/websockify", TAKES(BY_TICKET | BY_SECRET | BY_QUERY | BY_SOCKET), get_websockify},
    {0},
};
