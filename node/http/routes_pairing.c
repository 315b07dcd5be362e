#include "http/routes_pairing.h"

#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/log.h"
#include "base/loopback.h"
#include "http/http_context.h"

/* By the socket alone: X-Forwarded-For and the like are what a stranger writes. */
static bool peer_is_loopback(const struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info && info->client_addr && loopback_peer(info->client_addr);
}

static int get_code(struct exchange *exchange, struct error *err)
{
    char code[PAIRING_CODE_SIZE];
    if (!peer_is_loopback(exchange))
        return error_set(err, ERROR_NOT_FOUND, "there is nothing at this path");
    pairing_code(http_context(exchange)->pairing, code);
    return answer_json(exchange, MHD_HTTP_OK, json_pack("{s:s}", "code", code));
}

/* "capabilities" may ask for less than everything: ["lease"]. */
static int read_capabilities(const json_t *body, unsigned *capabilities, struct error *err)
{
    const json_t *list = json_object_get(body, "capabilities");
    *capabilities = CAPABILITY_OPERATOR | CAPABILITY_LEASE;
    if (!list)
        return 0;
    unsigned asked = 0;
    size_t index;
    json_t *word;
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

static json_t *encode_capabilities(unsigned capabilities)
{
    json_t *list = json_array();
    for (unsigned bit = CAPABILITY_OPERATOR; bit <= CAPABILITY_LEASE; bit <<= 1)
        if (capabilities & bit)
            json_array_append_new(list, json_string(pairing_capability_word(bit)));
    return list;
}

static void tell_paired(struct exchange *exchange, const char *token)
{
    struct pairing_grant grant;
    if (pairing_check(http_context(exchange)->pairing, token, &grant))
        audit_write(http_context(exchange)->audit, "paired",
                    json_pack("{s:s, s:o}", "pairing", grant.id, "capabilities",
                              encode_capabilities(grant.capabilities)));
}

static int post_pair(struct exchange *exchange, struct error *err)
{
    static const char *const fields[] = {"code", "capabilities", NULL};
    const char *code;
    unsigned capabilities;
    char token[PAIRING_TOKEN_SIZE];
    CLEANUP_JSON json_t *body = exchange_json(exchange, err);
    if (!body || document_keys(body, fields, err) < 0 || document_string(body, "code", &code, err) < 0 ||
        read_capabilities(body, &capabilities, err) < 0)
        return -1;
    if (pairing_pair(http_context(exchange)->pairing, code, capabilities, token, err) < 0) {
        log_warning("http", "a pairing was refused");
        return -1;
    }
    log_info("http", "a client paired");
    tell_paired(exchange, token);
    int answered = answer_json(
        exchange, MHD_HTTP_OK,
        json_pack("{s:s, s:o}", "token", token, "capabilities", encode_capabilities(capabilities)));
    explicit_bzero(token, sizeof token);
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
        clock_format(entries[i].created_ms, created);
        json_array_append_new(
            documents, json_pack("{s:s, s:o, s:s, s:b}", "id", entries[i].grant.id, "capabilities",
                                 encode_capabilities(entries[i].grant.capabilities), "created_at", created,
                                 "this", strcmp(entries[i].grant.id, exchange->grant.id) == 0));
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

const struct route routes_pairing[] = {
    {"GET", "/v1/pairing", AUTH_NONE, get_code},
    {"POST", "/v1/pair", AUTH_NONE, post_pair},
    {"GET", "/v1/pairings", AUTH_OPERATOR, get_pairings},
    {"DELETE", "/v1/pairings/{id}", AUTH_OPERATOR, delete_pairing},
    {0},
};
