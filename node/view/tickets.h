/*
 * Who may see one lease's view, beside the holders of pairing tokens: tickets, which travel in a URL and are
 * good once within a minute, and the session secrets that they are exchanged for. Private to view/.
 *
 * Both are 32 random bytes in hex, known here by their SHA-256 alone and compared in constant time. Their
 * number is bounded: where there are too many, the one that was used longest ago goes. They are gone with the
 * view, and by revocation of the token behind them.
 *
 * Every function may be called from any thread and none blocks. now_ms: clock_monotonic_ms().
 */
#ifndef BERTHOS_VIEW_TICKETS_H
#define BERTHOS_VIEW_TICKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "view/view_options.h"

#define TICKETS_MAX  64
#define SESSIONS_MAX 64

struct tickets; /* opaque */

/* What a ticket or a secret allows. */
struct pass {
    enum view_mode mode;
    char grant[DIGEST_HEX_SIZE]; /* id of the pairing grant that it comes from */
};

/* *Owned*: tickets_free(). Never NULL. */
struct tickets *tickets_new(void);
void tickets_free(struct tickets *tickets);
CLEANUP_DEFINE(tickets, struct tickets *, tickets_free);

/* Makes a ticket for a pass. */
void tickets_issue(struct tickets *tickets, const struct pass *pass, int64_t now_ms,
                   char ticket[VIEW_SECRET_SIZE]);

/* Whether it is a ticket that is good now; *pass is then filled. It stays good. */
bool tickets_look(struct tickets *tickets, const char *ticket, int64_t now_ms, struct pass *pass);

/* The same, and uses it up: of several callers with one ticket one succeeds. */
bool tickets_take(struct tickets *tickets, const char *ticket, int64_t now_ms, struct pass *pass);

/* Makes a session secret for a pass. */
void tickets_open_session(struct tickets *tickets, const struct pass *pass, int64_t now_ms,
                          char secret[VIEW_SECRET_SIZE]);

/* Whether it is a session secret; *pass is then filled. */
bool tickets_session(struct tickets *tickets, const char *secret, int64_t now_ms, struct pass *pass);

/*
 * Forgets every ticket and secret that comes from a grant; those that a request under way makes for it after
 * this are never good.
 */
void tickets_revoke(struct tickets *tickets, const char *grant);

/* Whether that was done to a grant; of very many the earliest are forgotten. */
bool tickets_revoked(struct tickets *tickets, const char *grant);

#endif
