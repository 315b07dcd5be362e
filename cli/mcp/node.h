/*
 * The node as the tools see it: who we are paired with, which lease is meant, and what of its screen was
 * shown last. Safe from any thread; several requests run at once, each on a connection of its own that is
 * kept.
 */
#ifndef BERTHOS_CLI_MCP_NODE_H
#define BERTHOS_CLI_MCP_NODE_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "client.h"
#include "mcp/fault.h"
#include "mcp/scale.h"

struct mcp_node;

/* What a call can be stopped by. All zero to begin with; used for one request after the other. */
struct mcp_stop {
    atomic_bool stopped;
    struct client *client; /* what it waits on now, or NULL. Guarded by the node's mutex */
    unsigned pairing;      /* which pairing that is of */
};

/* Sends a request in place of the HTTP client; for tests. As client_send(). */
typedef int mcp_node_send(void *context, const struct client_request *request, struct client_answer *answer,
                          struct error *err);

/*
 * url, lease: what --url and --lease said, or NULL; borrowed for as long as the node lives. Nothing is asked
 * yet: the pairing is read anew for each call, so that one made later counts. *Owned*.
 */
struct mcp_node *mcp_node_new(const char *url, const char *lease);

/* The same with a sender of a test's own and a pairing that is as good as there. */
struct mcp_node *mcp_node_new_for_test(const char *lease, mcp_node_send *send, void *context);

/*
 * Sends a request and waits. A refusal and a missing node are faults. The request's cancel, refusal and
 * time-out are set here: what the node bounds itself is waited for without a limit of ours.
 */
int mcp_node_ask(struct mcp_node *node, struct mcp_stop *stop, struct client_request *request,
                 struct client_answer *answer, struct mcp_fault *fault);

/* The same for a JSON answer. A new reference. */
json_t *mcp_node_ask_json(struct mcp_node *node, struct mcp_stop *stop, struct client_request *request,
                          struct mcp_fault *fault);

/* The same for `/v1/leases/LEASE` and what follows it, which is the path; a failure is looked into by
 * mcp_node_check_lease(). */
json_t *mcp_node_ask_lease(struct mcp_node *node, struct mcp_stop *stop, const char *lease, const char *what,
                           struct client_request *request, struct mcp_fault *fault);

/*
 * The lease that is meant: the one of --lease, else the only live one. Once chosen it stays chosen until it
 * ends, also when others come up. *Owned*.
 */
char *mcp_node_lease(struct mcp_node *node, struct mcp_stop *stop, struct mcp_fault *fault);

/*
 * After a failed request about a lease: where the lease is not live any more, the fault says that instead,
 * and lease and scale are forgotten.
 */
void mcp_node_check_lease(struct mcp_node *node, struct mcp_stop *stop, const char *lease,
                          struct mcp_fault *fault);

/* Forgets a lease that has ended by our own hand, and keeps its id for mcp_node_ended(). */
void mcp_node_lease_ended(struct mcp_node *node, const char *lease);

/* The lease that our own hand ended, while no other has been chosen since; NULL for none. *Owned*. */
char *mcp_node_ended(struct mcp_node *node);

/* Ends the request that a call waits for, and all that it would send from now on. */
void mcp_node_stop(struct mcp_node *node, struct mcp_stop *stop);

/* What was shown last; all zero before the first picture. */
struct mcp_scale mcp_node_scale(struct mcp_node *node);
void mcp_node_set_scale(struct mcp_node *node, const struct mcp_scale *scale);

void mcp_node_free(struct mcp_node *node);
CLEANUP_DEFINE(mcp_node, struct mcp_node *, mcp_node_free);
#define CLEANUP_MCP_NODE CLEANUP(cleanup_mcp_node)

#endif
