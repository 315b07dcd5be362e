/* What the commands that talk to a node have in common: where it is, the token, which lease is meant. */
#ifndef BERTHOS_CLI_SESSION_H
#define BERTHOS_CLI_SESSION_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "client.h"

struct session {
    char *url;             /* owned */
    char *token;           /* NULL when not paired. Owned */
    char *node_id;         /* of the node that gave it; NULL when that is not known. Owned */
    char *lease;           /* with SESSION_LEASE, the one that is meant. Owned */
    struct client *client; /* owned */
};

/* What a command cannot do without; each has what stands before it. */
enum session_need {
    SESSION_NONE,
    SESSION_NODE,  /* where the node is */
    SESSION_TOKEN, /* to be paired with it (ERROR_NOT_FOUND: "run: berth pair") */
    SESSION_LEASE, /* a lease: the only live one, unless it is said (ERROR_NOT_FOUND) */
};

/*
 * url: what --url said, or NULL: then client.toml's, and where there is none the node.toml's of this host.
 * The token is that of the pairing with this very URL. lease: the id that the line says, or NULL. *Owned*.
 */
struct session *session_open(const char *url, const char *lease, enum session_need need, struct error *err);

/* The URL of the node that node.toml of this host speaks of. *Owned*, or NULL with ERROR_CONFIG. */
char *session_own_url(const char *home, struct error *err);

/* The lease of a list of leases that holds just one; NULL for any other list. Borrowed. */
const char *session_only_lease(const json_t *leases);

/* Sends a request without a body. Gives the document of the answer: a new reference. */
json_t *session_ask(struct session *session, const char *method, const char *path, struct error *err);

/* The same, and prints it: as JSON, or as people read it. Returns EXIT_DONE, or -1. */
int session_show(struct session *session, const char *method, const char *path, bool json,
                 void (*print)(const json_t *document), struct error *err);

void session_free(struct session *session);
CLEANUP_DEFINE(session, struct session *, session_free);
#define CLEANUP_SESSION CLEANUP(cleanup_session)

#endif
