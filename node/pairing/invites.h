/*
 * Invites: one-time codes whose maker has said what their token may do. The owner's lock guards them.
 *
 * They are in memory alone. A SHA-256 of 40 bits is undone in minutes, so a file with it would hold the code
 * in all but name, and every backup of the home with it; and a code is of one run, as the node's own is.
 */
#ifndef BERTHOS_PAIRING_INVITES_H
#define BERTHOS_PAIRING_INVITES_H

#include <stddef.h>
#include <stdint.h>

#include "pairing/code.h"
#include "pairing/grant.h"

#define PAIRING_INVITES_MAX    32 /* open at once */
#define PAIRING_INVITE_ID_SIZE 13 /* 12 hex digits, which say nothing of the code, and the terminator */

/* An invite as it may be shown. */
struct pairing_invite {
    char id[PAIRING_INVITE_ID_SIZE];
    struct pairing_grant gives;  /* without an id: there is no token yet */
    char maker[DIGEST_HEX_SIZE]; /* id of the grant that made it */
    int64_t expires_ms;          /* realtime */
};

struct invites {
    struct invites_open {
        struct pairing_invite invite;
        struct code code;
        int64_t deadline_ms;     /* monotonic */
    } list[PAIRING_INVITES_MAX]; /* oldest first */
    size_t count;
};

/* Drops those whose time is over; the others' functions see them until then. */
void invites_expire(struct invites *invites);

/* A new one with a fresh code, good for ttl_seconds. NULL when there are as many as may be. *Borrowed*. */
const struct invites_open *invites_add(struct invites *invites, const struct pairing_grant *gives,
                                       const char *maker, int64_t ttl_seconds);

/* The one with this code, or NULL. How long it takes depends on how many there are alone. *Borrowed*. */
const struct invites_open *invites_find(const struct invites *invites, const struct code *code);

/* The one with this id, or NULL. *Borrowed*. */
const struct invites_open *invites_named(const struct invites *invites, const char *id);

/* Removes one of those above; its code is wiped. */
void invites_remove(struct invites *invites, const struct invites_open *open);

/* Removes all that a grant has made. */
void invites_remove_made_by(struct invites *invites, const char *maker);

#endif
