#include "http/routes_node.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "config/identity.h"
#include "http/http_context.h"
#include "protocol/report.h"

static int get_health(struct exchange *exchange, struct error *err)
{
    (void)err;
    return answer_json(exchange, MHD_HTTP_OK,
                       json_pack("{s:b, s:s, s:o}", "ok", 1, "protocol", PROTOCOL_VERSION, "settlement",
                                 protocol_settlement()));
}

static int get_eligibility(struct exchange *exchange, struct error *err)
{
    (void)err;
    struct eligibility_answer answer;
    if (exchange->peer.kind == PEER_OPERATOR)
        eligibility_ask(http_context(exchange)->eligibility, ELIGIBILITY_SHARED_MS, &answer);
    else
        eligibility_ask_open(http_context(exchange)->eligibility, &answer);
    return answer_json(exchange, MHD_HTTP_OK, answer.document);
}

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? json_string(text) : json_null();
}

static double seconds_since(int64_t monotonic_ms)
{
    return (double)(clock_monotonic_ms() - monotonic_ms) / 1000;
}

/* The guest that waits for the next lease, or null. */
static json_t *encode_spare(const struct berth_status *status)
{
    const struct lease_shape *shape = &status->spare_shape;
    if (!status->spare)
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:I, s:f}", "how", status->spare, "vcpu", (json_int_t)shape->vcpu,
                     "mem_gib", (json_int_t)shape->mem_gib, "disk_gib", (json_int_t)shape->disk_gib,
                     "seconds", seconds_since(status->spare_since_ms));
}

static json_t *encode_berth(size_t n, const struct berth_status *status)
{
    return json_pack("{s:I, s:s, s:o, s:o, s:f, s:o, s:o, s:o}", "n", (json_int_t)n, "state", status->state,
                     "phase", text_or_null(status->phase), "lease", text_or_null(status->lease_id), "seconds",
                     seconds_since(status->since_ms), "reason", text_or_null(status->reason), "paused",
                     text_or_null(status->paused), "prepared", encode_spare(status));
}

static int get_node(struct exchange *exchange, struct error *err)
{
    (void)err;
    const struct http_context *context = http_context(exchange);
    json_t *berths = json_array();
    char live[LEASE_ID_SIZE] = "";
    for (size_t i = 0; i < leases_berths(context->leases); i++) {
        struct berth_status status;
        leases_status(context->leases, i, &status);
        json_array_append_new(berths, encode_berth(i, &status));
        if (!live[0] && status.live)
            memcpy(live, status.lease_id, sizeof live);
    }
    json_t *guest = json_copy(json_array_get(berths, 0));
    json_object_del(guest, "n");
    return answer_json(exchange, MHD_HTTP_OK,
                       json_pack("{s:s, s:b, s:b, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:s}", "protocol",
                                 PROTOCOL_VERSION, "parked", leases_parked(context->leases), "eligible",
                                 eligibility_last(context->eligibility), "bind", context->bind, "class",
                                 config_class_word(context->config->class), "live_lease", text_or_null(live),
                                 "settlement", protocol_settlement(), "berths", berths, "guest", guest,
                                 "warm", leases_warm(context->leases), "version", BERTHOS_VERSION));
}

static int post_park(struct exchange *exchange, struct error *err)
{
    if (leases_park(http_context(exchange)->leases, err) < 0)
        return -1;
    return answer_empty(exchange, MHD_HTTP_NO_CONTENT);
}

static int post_unpark(struct exchange *exchange, struct error *err)
{
    if (leases_unpark(http_context(exchange)->leases, err) < 0)
        return -1;
    return answer_empty(exchange, MHD_HTTP_NO_CONTENT);
}

/* Who the node is; with a nonce, the proof of it: a client asks before it sends its token. */
static int get_key(struct exchange *exchange, struct error *err)
{
    static const char *const arguments[] = {"nonce", NULL};
    const char *nonce = exchange_argument(exchange, "nonce");
    CLEANUP_FREE char *public_key = NULL;
    CLEANUP_FREE char *signature = NULL;
    char node_id[DIGEST_HEX_SIZE] = "";
    if (exchange_arguments(exchange, arguments, err) < 0)
        return -1;
    if (nonce && !text_is_hex(nonce, IDENTITY_NONCE_SIZE - 1))
        return error_set(err, ERROR_BAD_REQUEST, "\"nonce\" must be 64 hex digits");
    if (identity_prove(http_context(exchange)->config->home, nonce, &public_key, &signature, err) < 0)
        return -1;
    identity_of(public_key, node_id);
    return answer_json(
        exchange, MHD_HTTP_OK,
        json_pack("{s:s, s:s, s:s*}", "nodeId", node_id, "public_key", public_key, "signature", signature));
}

const struct route routes_node[] = {
    {"GET", "/health", AUTH_NONE, get_health},
    {"GET", "/v1/eligibility", AUTH_NONE, get_eligibility},
    {"GET", "/v1/node", AUTH_NONE, get_node},
    {"GET", "/v1/key", AUTH_NONE, get_key},
    {"POST", "/v1/park", AUTH_OPERATOR, post_park},
    {"POST", "/v1/unpark", AUTH_OPERATOR, post_unpark},
    {0},
};
