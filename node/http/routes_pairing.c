/* /v1/pairing, /v1/pair */
#include <netinet/in.h>
#include <string.h>

#include "base/document.h"
#include "base/log.h"
#include "http/routes.h"

/* By the socket alone: X-Forwarded-For and the like are what a stranger writes. */
static bool peer_is_loopback(const struct exchange *exchange)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (!info || !info->client_addr)
        return false;
    if (info->client_addr->sa_family == AF_INET) {
        const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)info->client_addr;
        return ntohl(address->sin_addr.s_addr) >> 24 == 127;
    }
    if (info->client_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *address = (const struct sockaddr_in6 *)(const void *)info->client_addr;
        return IN6_IS_ADDR_LOOPBACK(&address->sin6_addr);
    }
    return false;
}

static int show_code(struct exchange *exchange, struct error *err)
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
        const char *text = json_is_string(word) ? json_string_value(word) : "";
        unsigned bit = strcmp(text, "lease") == 0      ? CAPABILITY_LEASE
                       : strcmp(text, "operator") == 0 ? CAPABILITY_OPERATOR
                                                       : 0;
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

static int pair(struct exchange *exchange, struct error *err)
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
    json_t *list = json_array();
    if (capabilities & CAPABILITY_OPERATOR)
        json_array_append_new(list, json_string("operator"));
    if (capabilities & CAPABILITY_LEASE)
        json_array_append_new(list, json_string("lease"));
    int answered =
        answer_json(exchange, MHD_HTTP_OK, json_pack("{s:s, s:o}", "token", token, "capabilities", list));
    explicit_bzero(token, sizeof token);
    return answered;
}

const struct route routes_pairing[] = {
    {"GET", "/v1/pairing", AUTH_NONE, show_code},
    {"POST", "/v1/pair", AUTH_NONE, pair},
    {0},
};
