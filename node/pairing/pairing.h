/*
 * Pairing: who may use the node. A short code is exchanged once for a token of 32 random bytes; only the
 * token's SHA-256 is kept (pairings.json, 0600), and it survives a restart. There are two kinds of codes: the
 * node's own, which gives everything and which operators of the host alone are told, and invites, which give
 * what their maker said.
 *
 * Guessing: a code has 40 bits, is compared in constant time and is good once; wrong ones are counted for
 * each user of the host (guesses.h). They change no code, so nobody can take one from whom it was given.
 *
 * A pairing whose token was not used within PAIRING_UNUSED_HOURS is forgotten.
 */
#ifndef BERTHOS_PAIRING_PAIRING_H
#define BERTHOS_PAIRING_PAIRING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/peer.h"
#include "pairing/code.h"
#include "pairing/grant.h"
#include "pairing/invites.h"

#define PAIRING_TOKEN_SIZE   65 /* 64 hex digits and the terminator */
#define PAIRING_UNUSED_HOURS 24

struct pairing; /* opaque */

/*
 * Loads HOME/pairings.json, or starts without any; a file that cannot be understood is set aside with a
 * message in the log. Makes the first code. NULL with ERROR_INTERNAL. *Owned*: pairing_close().
 */
struct pairing *pairing_open(const char *home, struct error *err);
void pairing_close(struct pairing *pairing);
CLEANUP_DEFINE(pairing, struct pairing *, pairing_close);

/* The node's own code, "XXXX-XXXX". A secret of this host's operators. */
void pairing_code(struct pairing *pairing, char code[PAIRING_CODE_SIZE]);

/* What a code was exchanged for. */
struct pairing_paired {
    char token[PAIRING_TOKEN_SIZE]; /* a secret */
    struct pairing_grant grant;
    char invite[PAIRING_INVITE_ID_SIZE]; /* whose code it was; "" for the node's own */
};

/*
 * Exchanges a code (case and dashes do not matter) for a new token; it is on disk before this returns, and
 * the code is used up. peer: who asks. capabilities: what of those that the code gives the token is to have;
 * 0 for all. ERROR_SLOW_DOWN, ERROR_WRONG_CODE, ERROR_FORBIDDEN when more is asked for than the code gives,
 * ERROR_TOO_MANY when no more pairings are kept, or ERROR_INTERNAL when it cannot be stored; with the last
 * three the code is still good.
 */
int pairing_pair(struct pairing *pairing, const struct peer *peer, const char *code, unsigned capabilities,
                 struct pairing_paired *paired, struct error *err);

/* The pairings, oldest first. *entries is *owned*: free(). Returns how many. */
size_t pairing_list(struct pairing *pairing, struct pairing_entry **entries);

/* How short a beginning of a pairing's id may be to name it. */
#define PAIRING_PREFIX_MIN 8

/*
 * Revokes the one pairing whose id begins with `prefix` (hex digits, at least PAIRING_PREFIX_MIN): its token
 * is unknown from now on, and on disk before this returns; the invites that it made are gone. *revoked says
 * which it was. ERROR_NOT_FOUND when there is none, ERROR_BAD_REQUEST when several begin so, ERROR_INTERNAL
 * when it cannot be stored (then nothing has changed).
 */
int pairing_revoke(struct pairing *pairing, const char *prefix, struct pairing_grant *revoked,
                   struct error *err);

/*
 * Whether the token is one of ours; fills the grant. That a pairing is in use is written to the file; where
 * that fails, the log says so, and a later call tries again.
 */
bool pairing_check(struct pairing *pairing, const char *token, struct pairing_grant *grant);

/*
 * Makes an invite, good once and for ttl_seconds. gives: its capabilities and limits. maker: the id of the
 * grant that asks. ERROR_BAD_REQUEST for limits beside the operator capability, which could undo them;
 * ERROR_TOO_MANY.
 */
int pairing_invite(struct pairing *pairing, const struct pairing_grant *gives, const char *maker,
                   int64_t ttl_seconds, struct pairing_invite *invite, char code[PAIRING_CODE_SIZE],
                   struct error *err);

/* Those that are open, oldest first. Returns how many. */
size_t pairing_invites(struct pairing *pairing, struct pairing_invite list[PAIRING_INVITES_MAX]);

/* Takes one back. ERROR_NOT_FOUND when it is not open. */
int pairing_uninvite(struct pairing *pairing, const char *id, struct error *err);

#endif
