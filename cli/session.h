/* What the commands that talk to a node have in common: where it is, the token, which lease is meant. */
#ifndef BERTHOS_CLI_SESSION_H
#define BERTHOS_CLI_SESSION_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "client.h"

struct session {
    char *home;            /* $BERTHOS_HOME. Owned */
    char *url;             /* owned */
    char *token;           /* NULL when not paired. Owned */
    struct client *client; /* owned */
};

enum session_need { SESSION_TOKEN, SESSION_ANYBODY };

/*
 * url: what --url said, or NULL: then client.toml's, and where there is none the node.toml's of this host.
 * SESSION_TOKEN refuses when there is no token (ERROR_NOT_FOUND: "run: berth pair"). *Owned*.
 */
struct session *session_open(const char *url, enum session_need need, struct error *err);

/* The URL of the node that node.toml of this host speaks of. *Owned*, or NULL with ERROR_CONFIG. */
char *session_own_url(const char *home, struct error *err);

/* Whether a text is a lease's id: "l_" and 32 hex digits. */
bool session_lease_ok(const char *id);

/*
 * The lease that is meant: `given`, or where it is NULL the only live one. ERROR_NOT_FOUND when none is live
 * or several are. *Owned*.
 */
char *session_lease(struct session *session, const char *given, struct error *err);

/*
 * Sends a request that a receipt answers, and prints the receipt: as JSON, or as people read it. Gives the
 * exit code; a failure is said on stderr.
 */
int session_print_receipt(struct session *session, const char *method, const char *path, bool json);

void session_free(struct session *session);
CLEANUP_DEFINE(session, struct session *, session_free);
#define CLEANUP_SESSION CLEANUP(cleanup_session)

#endif
