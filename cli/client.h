/*
 * The client's side of HTTP (libcurl). A node is on loopback: proxies are ignored, redirects are not
 * followed, answers are bounded. A refusal of the node becomes an error with its own sentence and code.
 */
#ifndef BERTHOS_CLI_CLIENT_H
#define BERTHOS_CLI_CLIENT_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

/* One connection to one node, which has the token alone that this node gave; used by one thread at a time. */
struct client;

enum { CLIENT_TIMEOUT_MS = 30000, CLIENT_NO_TIMEOUT = 0, CLIENT_WORD_SIZE = 32 };

/* Called again and again while a request waits, in the thread that waits. */
typedef void client_tick(void *context);

/* A header of the answer that is asked for by its name. */
struct client_header {
    const char *name; /* in any case; static */
    char value[24];   /* "" when it is not there or does not fit */
};

struct client_request {
    const char *method, *path; /* borrowed */
    const json_t *body;        /* borrowed; NULL for none */
    long timeout_ms;           /* CLIENT_NO_TIMEOUT waits for ever */
    size_t max_bytes;          /* of the answer; 0 for 1 MiB */
    const atomic_bool *cancel; /* NULL, or ends the request within a tick once it is true: client_wake() */
    client_tick *tick;         /* NULL for none */
    int tick_ms;               /* 0 for a second */
    void *tick_context;        /* borrowed */
    struct client_header *headers; /* NULL, or a list ended by one without a name, to be filled */
    char *refusal;                 /* NULL, or CLIENT_WORD_SIZE bytes: a refusal's machine word, else "" */
};

struct client_answer {
    long status; /* 200..299 */
    char *type;  /* Content-Type, "" when there is none. Owned */
    char *data;  /* terminated. Owned */
    size_t size;
};

/*
 * url: as url_read() gives it. token: NULL to go without. node_id: who must be at the other end, or NULL
 * where that is not known: before the token goes out on a connection, the node there has to prove on it that
 * it has the key of this id (GET /v1/key). All are copied. Never NULL. *Owned*.
 */
struct client *client_new(const char *url, const char *token, const char *node_id);

/*
 * Asks the node for its key and has it proven, without a token. *public_key is *owned*: free(); NULL, and 0,
 * when the node has none (404: another make than ours). -1 when it cannot be asked or proves nothing.
 */
int client_ask_key(struct client *client, char **public_key, struct error *err);

/*
 * Sends a request and waits for its answer. -1 when no node answers, the time is over, or the answer is a
 * refusal. The answer is cleared with client_answer_clear().
 */
int client_send(struct client *client, const struct client_request *request, struct client_answer *answer,
                struct error *err);

/* The same for a JSON answer; 204 gives json_null(). A new reference. */
json_t *client_ask(struct client *client, const struct client_request *request, struct error *err);

/*
 * Has the request that runs on this connection look at its `cancel` now; for other threads. A request that is
 * cancelled closes its connection.
 */
void client_wake(struct client *client);

void client_answer_clear(struct client_answer *answer);
#define CLEANUP_CLIENT_ANSWER CLEANUP(client_answer_clear)

void client_free(struct client *client);
CLEANUP_DEFINE(client, struct client *, client_free);
#define CLEANUP_CLIENT CLEANUP(cleanup_client)

#endif
