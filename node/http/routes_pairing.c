#include "http/routes_pairing.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/log.h"
#include "http/http_context.h"

enum { TTL_DEFAULT_S = 600 };

/* --- the node's own code --------------------------------------------------------------------------- */

/* What a proxy or a tunnel's end adds: then whoever asks is not who has the connection. */
static bool is_forwarding(const char *header)
{
    static const char *const names[] = {"Forwarded", "Via", "X-Real-IP", "CF-Connecting-IP"};
    static const char prefix[] = "X-Forwarded-";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(header, names[i]) == 0)
            return true;
    return strncasecmp(header, prefix, sizeof prefix - 1) == 0;
}

static enum MHD_Result note_forwarding(void *context, enum MHD_ValueKind kind, const char *key,
                                       const char *value)
{
    (void)kind;
    (void)value;
    *(bool *)context |= is_forwarding(key);
    return MHD_YES;
}

/* For an operator of this host alone; to anybody else there is no such path. */
static int get_code(struct exchange *exchange, struct error *err)
{
    char code[PAIRING_CODE_SIZE];
    bool forwarded = false;
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, note_forwarding, &forwarded);
    if (exchange->peer.kind != PEER_OPERATOR || forwarded)
        return exchange_no_path(err);
    pairing_code(http_context(exchange)->pairing, code);
    return answer_json(exchange, MHD_HTTP_OK, json_pack("{s:s}", "code", code));
}

/* --- pairing --------------------------------------------------------------------------------------- */

/* A list of "operator" and "lease"; where it is left out, *capabilities stays as it is. */
static int read_capabilities(const json_t *body, unsigned *capabilities, struct error *err)
{
    const json_t *list = json_object_get(body, "capabilities");
    unsigned asked = 0;
    size_t index;
    json_t *word;
    if (!list || json_is_null(list))
        return 0;
    json_array_foreach(list, index, word)
    {
        unsigned bit = json_is_string(word) ? pairing_capability_from(json_string_value(word)) : 0;
        if (!bit)
            return error_set(err, ERROR_BAD_REQUEST,
                             "\"capabilities\" may hold \"operator\" and \"lease\" only");
        asked |= bit;
    }
    if (!asked)
        return error_set(err, ERROR_BAD_REQUEST,
                         "\"capabilities\" must be a list of \"operator\" and \"lease\"");
    *capabilities = asked;
    return 0;
}

static json_t *encode_limit(int64_t limit)
{
    return limit ? json_integer(limit) : json_null();
}

/* {NAME: id, capabilities, leases, max_seconds}: how a pairing or an invite is shown. */
static json_t *encode_grant(const char *name, const char *id, const struct pairing_grant *grant)
{
    return json_pack("{s:s, s:o, s:o, s:o}", name, id, "capabilities",
                     pairing_capabilities(grant->capabilities), "leases", encode_limit(grant->leases_max),
                     "max_seconds", encode_limit(grant->max_seconds));
}

static void tell_paired(struct exchange *exchange, const struct pairing_paired *paired)
{
    const struct peer *peer = &exchange->peer;
    json_t *event = encode_grant("pairing", paired->grant.id, &paired->grant);
    if (paired->invite[0])
        json_object_set_new(event, "invite", json_string(paired->invite));
    json_object_set_new(event, "uid", peer->known ? json_integer((json_int_t)peer->uid) : json_null());
    audit_write(http_context(exchange)->audit, "paired", event);
}

static int post_pair(struct exchange *exchange, struct error *err)
{
    static const char *const fields[] = {"code", "capabilities", NULL};
    const char *code;
    unsigned capabilities = 0;
    struct pairing_paired paired;
    CLEANUP_JSON json_t *body = exchange_json(exchange, err);
    if (!body || document_keys(body, fields, err) < 0 || document_string(body, "code", &code, err) < 0 ||
        read_capabilities(body, &capabilities, err) < 0)
        return -1;
    if (pairing_pair(http_context(exchange)->pairing, &exchange->peer, code, capabilities, &paired, err) <
        0) {
        log_warning("http", "a pairing was refused");
        return -1;
    }
    log_info("http", "a client paired");
    tell_paired(exchange, &paired);
    int answered = answer_json(exchange, MHD_HTTP_OK,
                               json_pack("{s:s, s:o}", "token", paired.token, "capabilities",
                                         pairing_capabilities(paired.grant.capabilities)));
    explicit_bzero(&paired, sizeof paired);
    return answered;
}

static int get_pairings(struct exchange *exchange, struct error *err)
{
    (void)err;
    CLEANUP_FREE struct pairing_entry *entries;
    size_t count = pairing_list(http_context(exchange)->pairing, &entries);
    json_t *documents = json_array();
    for (size_t i = 0; i < count; i++) {
        char created[CLOCK_TEXT_SIZE];
        json_t *document = encode_grant("id", entries[i].grant.id, &entries[i].grant);
        clock_format(entries[i].created_ms, created);
        json_object_set_new(document, "created_at", json_string(created));
        json_object_set_new(document, "used", json_boolean(entries[i].used));
        json_object_set_new(document, "this",
                            json_boolean(strcmp(entries[i].grant.id, exchange->grant.id) == 0));
        json_array_append_new(documents, document);
    }
    return answer_json(exchange, MHD_HTTP_OK, documents);
}

/* {id}: the beginning of a pairing's id. */
static int delete_pairing(struct exchange *exchange, struct error *err)
{
    struct pairing_grant revoked;
    if (pairing_revoke(http_context(exchange)->pairing, exchange->id, &revoked, err) < 0)
        return -1;
    leases_revoke(http_context(exchange)->leases, revoked.id);
    log_info("http", "the pairing %.8s was revoked", revoked.id);
    audit_write(http_context(exchange)->audit, "unpaired",
                json_pack("{s:s, s:s}", "pairing", revoked.id, "by", exchange->grant.id));
    return answer_json(exchange, MHD_HTTP_OK, json_pack("{s:s, s:b}", "id", revoked.id, "revoked", 1));
}

/* --- invites --------------------------------------------------------------------------------------- */

static json_t *encode_invite(const struct pairing_invite *invite)
{
    char expires[CLOCK_TEXT_SIZE];
    json_t *document = encode_grant("id", invite->id, &invite->gives);
    clock_format(invite->expires_ms, expires);
    json_object_set_new(document, "expires_at", json_string(expires));
    json_object_set_new(document, "made_by", json_string(invite->maker));
    return document;
}

static int post_invite(struct exchange *exchange, struct error *err)
{
    static const char *const fields[] = {"capabilities", "ttl_seconds", "leases", "max_seconds", NULL};
    struct pairing_grant gives = {.capabilities = CAPABILITY_LEASE};
    int64_t ttl_seconds = TTL_DEFAULT_S;
    struct pairing_invite invite;
    char code[PAIRING_CODE_SIZE];
    CLEANUP_JSON json_t *body = exchange->body_size ? exchange_json(exchange, err) : json_object();
    if (!body || document_keys(body, fields, err) < 0 ||
        read_capabilities(body, &gives.capabilities, err) < 0 ||
        document_maybe_integer(body, "ttl_seconds", 1, PAIRING_TTL_MAX_S, &ttl_seconds, err) < 0 ||
        document_maybe_integer(body, "leases", 1, PAIRING_LEASES_MAX, &gives.leases_max, err) < 0 ||
        document_maybe_integer(body, "max_seconds", 1, LEASE_MAX_SECONDS, &gives.max_seconds, err) < 0)
        return -1;
    if (pairing_invite(http_context(exchange)->pairing, &gives, exchange->grant.id, ttl_seconds, &invite,
                       code, err) < 0)
        return -1;
    json_t *event = encode_grant("invite", invite.id, &invite.gives);
    json_object_set_new(event, "ttl_seconds", json_integer(ttl_seconds));
    json_object_set_new(event, "by", json_string(exchange->grant.id));
    audit_write(http_context(exchange)->audit, "invited", event);
    json_t *document = encode_invite(&invite);
    json_object_set_new(document, "code", json_string(code));
    explicit_bzero(code, sizeof code);
    return answer_json(exchange, MHD_HTTP_CREATED, document);
}

static int get_invites(struct exchange *exchange, struct error *err)
{
    (void)err;
    struct pairing_invite list[PAIRING_INVITES_MAX];
    size_t count = pairing_invites(http_context(exchange)->pairing, list);
    json_t *documents = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(documents, encode_invite(&list[i]));
    return answer_json(exchange, MHD_HTTP_OK, documents);
}

static int delete_invite(struct exchange *exchange, struct error *err)
{
    if (pairing_uninvite(http_context(exchange)->pairing, exchange->id, err) < 0)
        return -1;
    audit_write(http_context(exchange)->audit, "uninvited",
                json_pack("{s:s, s:s}", "invite", exchange->id, "by", exchange->grant.id));
    return answer_json(exchange, MHD_HTTP_OK, json_pack("{s:s, s:b}", "id", exchange->id, "revoked", 1));
}

const struct route routes_pairing[] = {
    {"GET", "/v1/pairing", AUTH_NONE, get_code},
    {"POST", "/v1/pair", AUTH_NONE, post_pair},
    {"GET", "/v1/pairings", AUTH_OPERATOR, get_pairings},
    {"DELETE", "/v1/pairings/{id}", AUTH_OPERATOR, delete_pairing},
    {"POST", "/v1/invites", AUTH_OPERATOR, post_invite},
    {"GET", "/v1/invites", AUTH_OPERATOR, get_invites},
    {"DELETE", "/v1/invites/{id}", AUTH_OPERATOR, delete_invite},
    {0},
};
