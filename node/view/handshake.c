#include "view/handshake.h"

#include <gnutls/crypto.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/cleanup.h"

/* The next token of a comma-separated list: its start, its length; NULL at the end. */
static const char *next_token(const char **at, size_t *length)
{
    *at += strspn(*at, ", \t");
    const char *token = *at;
    size_t whole = strcspn(token, ",");
    *at += whole;
    while (whole > 0 && (token[whole - 1] == ' ' || token[whole - 1] == '\t'))
        whole--;
    *length = whole;
    return whole ? token : NULL;
}

bool handshake_lists(const char *list, const char *token)
{
    const char *found;
    size_t length;
    while ((found = next_token(&list, &length)))
        if (length == strlen(token) && strncasecmp(found, token, length) == 0)
            return true;
    return false;
}

bool handshake_find(const char *list, const char *prefix, char *rest, size_t room)
{
    const char *found;
    size_t length, skip = strlen(prefix);
    while ((found = next_token(&list, &length))) {
        if (length < skip || strncmp(found, prefix, skip) != 0)
            continue;
        if (length - skip >= room)
            return false;
        snprintf(rest, room, "%.*s", (int)(length - skip), found + skip);
        return true;
    }
    return false;
}

/* base64 of 16 bytes: 22 symbols, of which the last has four bits of nothing, and the padding. */
static bool key_is_good(const char *key)
{
    static const char symbols[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return strlen(key) == 24 && strspn(key, symbols) == 22 && strchr("AQgw", key[21]) &&
           strcmp(key + 22, "==") == 0;
}

int handshake_check(const struct handshake *handshake, char accept[HANDSHAKE_ACCEPT_SIZE], struct error *err)
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 section 1.3 */
    char both[24 + sizeof guid];
    unsigned char digest[20];
    if (!handshake->upgrade || !handshake_lists(handshake->upgrade, "websocket") || !handshake->connection ||
        !handshake_lists(handshake->connection, "upgrade"))
        return error_set(err, ERROR_BAD_REQUEST, "this path takes a WebSocket alone (Upgrade: websocket)");
    if (!handshake->version || strcmp(handshake->version, "13") != 0)
        return error_set(err, ERROR_BAD_REQUEST, "Sec-WebSocket-Version must be 13");
    if (!handshake->key || !key_is_good(handshake->key))
        return error_set(err, ERROR_BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64");
    snprintf(both, sizeof both, "%s%s", handshake->key, guid);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, both, strlen(both), digest) < 0)
        return error_set(err, ERROR_INTERNAL, "cannot compute SHA-1 for a WebSocket");
    CLEANUP_FREE char *text = base64_encode(digest, sizeof digest);
    snprintf(accept, HANDSHAKE_ACCEPT_SIZE, "%s", text);
    return 0;
}
