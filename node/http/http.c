/* Who may call what: the token of a request against the capability that its route asks for. */
#include "http/http.h"

#include <strings.h>

#include "base/text.h"
#include "http/routes_leases.h"
#include "http/routes_node.h"
#include "http/routes_pairing.h"
#include "http/routes_screen.h"
#include "protocol/error_words.h"
#include "web/server.h"

/* Of connections: all, those of strangers, those of one of them. */
enum { CONNECTIONS_MAX = 320, STRANGERS_MAX = 256, STRANGER_MAX = 64 };

enum { REQUESTS_MAX = 64, METHOD_SHOWN = 16 };

/*
 * A tenant's requests under way are counted: long waits of one are not to keep another out. An operator's are
 * not: whoever looks after the node gets in.
 */
static int take_share(struct exchange *exchange, struct error *err)
{
    return exchange->grant.capabilities & CAPABILITY_OPERATOR
               ? 0
               : exchange_share(exchange, exchange->grant.id, REQUESTS_MAX, err);
}

static int authorize_token(struct exchange *exchange, const struct route *route, struct error *err)
{
    const char *header = exchange_header(exchange, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!header || strncasecmp(header, "Bearer ", 7) != 0)
        return error_set(err, ERROR_UNAUTHORIZED,
                         "this needs a token (Authorization: Bearer ...); pair first: berth pair");
    if (!pairing_check(http_context(exchange)->pairing, header + 7, &exchange->grant))
        return error_set(err, ERROR_UNAUTHORIZED, "this token is not known here; pair again: berth pair");
    if (!(exchange->grant.capabilities & route->auth))
        return error_set(err, ERROR_UNAUTHORIZED, "this token has not the capability \"%s\"",
                         route->auth == AUTH_OPERATOR ? "operator" : "lease");
    return take_share(exchange, err);
}

static void audit_refusal(struct exchange *exchange, const struct error *reason)
{
    CLEANUP_FREE char *method = text_fit(exchange->method, METHOD_SHOWN);
    CLEANUP_FREE char *path = text_fit(exchange->path, AUDIT_TEXT_MAX);
    json_t *event = json_pack("{s:s, s:s, s:s}", "method", method, "path", path, "code",
                              protocol_error_word(reason->code));
    if (exchange->peer.known)
        json_object_set_new(event, "uid", json_integer(exchange->peer.uid));
    audit_write_some(http_context(exchange)->audit, AUDIT_REFUSALS, "refused", event);
}

struct web_server *http_server_start(const struct http_context *context, uint16_t port, struct error *err)
{
    static const struct route *const tables[] = {routes_node, routes_pairing, routes_leases, routes_screen,
                                                 NULL};
    struct web_options options = {
        .bind = context->bind,
        .port = port,
        .tables = tables,
        .large = "/v1/leases/{id}/actions",
        .context = (void *)context,
        .connections_max = CONNECTIONS_MAX,
        .strangers_max = STRANGERS_MAX,
        .stranger_max = STRANGER_MAX,
        .peers = context->peers,
        .authorize = authorize_token,
        .refused = audit_refusal,
    };
    return web_server_start(&options, err);
}
