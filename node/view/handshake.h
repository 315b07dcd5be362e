/* The opening handshake of a WebSocket (RFC 6455 section 4.2), on header values alone. Private to view/. */
#ifndef BERTHOS_VIEW_HANDSHAKE_H
#define BERTHOS_VIEW_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define HANDSHAKE_ACCEPT_SIZE 29 /* base64 of 20 bytes and the terminator */

/* What of a request matters; each may be NULL where the header is missing. Borrowed. */
struct handshake {
    const char *upgrade, *connection, *version, *key;
};

/* Writes the value of Sec-WebSocket-Accept; -1 with ERROR_BAD_REQUEST that says what is wrong. */
int handshake_check(const struct handshake *handshake, char accept[HANDSHAKE_ACCEPT_SIZE], struct error *err);

/* Whether a comma-separated list of tokens has this one, without regard to case. */
bool handshake_lists(const char *list, const char *token);

/*
 * Copies the rest of the list's first token that begins with `prefix` (case matters); false when there is
 * none, or it does not fit with its terminator.
 */
bool handshake_find(const char *list, const char *prefix, char *rest, size_t room);

#endif
