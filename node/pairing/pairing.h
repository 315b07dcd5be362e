/*
 * Pairing: who may use the node. A short code that the operator reads off the terminal is exchanged once for
 * a token of 32 random bytes; only the token's SHA-256 is kept (pairings.json, 0600), and it survives a
 * restart.
 *
 * Guessing: the code has 40 bits, is compared in constant time, changes when it was used and after five wrong
 * tries; wrong tries draw from a bucket of five that refills by one every twelve seconds, for everybody
 * together.
 */
#ifndef BERTHOS_PAIRING_PAIRING_H
#define BERTHOS_PAIRING_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"

#define PAIRING_CODE_SIZE  10 /* "XXXX-XXXX" and the terminator */
#define PAIRING_TOKEN_SIZE 65 /* 64 hex digits and the terminator */

/* What a token may do. */
enum pairing_capability { CAPABILITY_OPERATOR = 1, CAPABILITY_LEASE = 2 };

/* Who is asking, once the token is known. */
struct pairing_grant {
    char id[DIGEST_HEX_SIZE]; /* the token's SHA-256: names the token without being one */
    unsigned capabilities;
};

/*
 * Whether a grant reaches what another made (owner: the id of that grant): with the operator capability all,
 * with lease alone its own.
 */
bool pairing_grant_reaches(const struct pairing_grant *grant, const char *owner);

struct pairing; /* opaque */

/*
 * Loads HOME/pairings.json, or starts without any; a file that cannot be understood is set aside with a
 * message in the log. Makes the first code. NULL with ERROR_INTERNAL. *Owned*: pairing_close().
 */
struct pairing *pairing_open(const char *home, struct error *err);
void pairing_close(struct pairing *pairing);
CLEANUP_DEFINE(pairing, struct pairing *, pairing_close);

/* The code that pairs next, "XXXX-XXXX". A secret of this host's users. */
void pairing_code(struct pairing *pairing, char code[PAIRING_CODE_SIZE]);

/*
 * Exchanges a code (case and dashes do not matter) for a new token with these capabilities; it is on disk
 * before this returns. ERROR_WRONG_CODE, ERROR_SLOW_DOWN, or ERROR_INTERNAL when it cannot be stored (then
 * nothing has changed).
 */
int pairing_pair(struct pairing *pairing, const char *code, unsigned capabilities,
                 char token[PAIRING_TOKEN_SIZE], struct error *err);

/* One pairing as it may be shown: what names its token, not the token. */
struct pairing_entry {
    struct pairing_grant grant;
    int64_t created_ms; /* realtime */
};

/* The pairings, oldest first. *entries is *owned*: free(). Returns how many. */
size_t pairing_list(struct pairing *pairing, struct pairing_entry **entries);

/* How short a beginning of a pairing's id may be to name it. */
#define PAIRING_PREFIX_MIN 8

/*
 * Revokes the one pairing whose id begins with `prefix` (hex digits, at least PAIRING_PREFIX_MIN): its token
 * is unknown from now on, and on disk before this returns. *revoked says which it was. ERROR_NOT_FOUND when
 * there is none, ERROR_BAD_REQUEST when several begin so, ERROR_INTERNAL when it cannot be stored (then
 * nothing has changed).
 */
int pairing_revoke(struct pairing *pairing, const char *prefix, struct pairing_grant *revoked,
                   struct error *err);

/* "operator", "lease" for one bit of enum pairing_capability; the other way round, 0 for any other word. */
const char *pairing_capability_word(unsigned bit);
unsigned pairing_capability_from(const char *word);

/* Whether the token is one of ours; fills the grant. */
bool pairing_check(struct pairing *pairing, const char *token, struct pairing_grant *grant);

#endif
