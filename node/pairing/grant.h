/* What a token may do, and how the parts that ask for it name it. */
#ifndef BERTHOS_PAIRING_GRANT_H
#define BERTHOS_PAIRING_GRANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"

enum pairing_capability { CAPABILITY_OPERATOR = 1, CAPABILITY_LEASE = 2 };
#define CAPABILITY_ALL (CAPABILITY_OPERATOR | CAPABILITY_LEASE)

/* The bounds of an invite: how long its code is good, and how many leases at once it may give. The longest
 * lease is LEASE_MAX_SECONDS. */
#define PAIRING_TTL_MAX_S  86400
#define PAIRING_LEASES_MAX 1000

/* Who is asking, once the token is known. */
struct pairing_grant {
    char id[DIGEST_HEX_SIZE]; /* the token's SHA-256: names the token without being one */
    unsigned capabilities;
    int64_t leases_max;  /* leases that it may have live at once; 0: as many as the node has berths */
    int64_t max_seconds; /* the longest lease that it may make; 0: the node's max_lease_seconds */
};

/* One pairing as it is kept and may be shown. */
struct pairing_entry {
    struct pairing_grant grant;
    int64_t created_ms; /* realtime */
    bool used;          /* its token was shown to the node since */
};

/*
 * Whether a grant reaches what another made (owner: the id of that grant): with the operator capability all,
 * with lease alone its own.
 */
bool pairing_grant_reaches(const struct pairing_grant *grant, const char *owner);

/* "operator", "lease" for one bit of enum pairing_capability; the other way round, 0 for any other word. */
const char *pairing_capability_word(unsigned bit);
unsigned pairing_capability_from(const char *word);

/* ["operator", "lease"], of those that are there. A new reference. */
json_t *pairing_capabilities(unsigned capabilities);

#endif
