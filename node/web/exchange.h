/*
 * One request and its answer, as the routes of a server see them. A handler runs on the thread of its
 * connection and may block.
 */
#ifndef BERTHOS_WEB_EXCHANGE_H
#define BERTHOS_WEB_EXCHANGE_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cancel.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/peer.h"
#include "pairing/pairing.h"

/* Bytes of a body; more is 413. The large one is for actions, whose text may be long. */
#define WEB_BODY_MAX       (64 << 10)
#define WEB_BODY_LARGE_MAX (1 << 20)
/* Values of a body in JSON. Each takes up to 250 bytes once it is read, which `{},` would make of 3. */
#define WEB_JSON_MAX 16384
#define WEB_ID_SIZE  128

struct peer_watch;
struct shares;

/* What takes a connection over once its request has been answered with 101. */
struct upgrade {
    const char *protocol; /* for the Upgrade header; static */

    /*
     * Called on the connection's thread when the answer has been sent; may block. socket: non-blocking,
     * borrowed until it returns and closed then. early: what the client sent behind its request.
     */
    void (*run)(void *context, int socket, const char *early, size_t early_size);

    /* Called once when all is over, also where run() was not because the client had gone. */
    void (*release)(void *context);
    void *context;
};

struct exchange {
    void *context; /* web_options.context */
    struct MHD_Connection *connection;
    const char *method;
    const char *path;            /* of the request, without its query */
    struct peer peer;            /* who is at the other end of the connection */
    char id[WEB_ID_SIZE];        /* what stands for {id} in the path; may be no valid id */
    struct pairing_grant grant;  /* of the token, where the server's authorize() has found one */
    struct shares *shares;       /* of the server: requests under way. Borrowed */
    char share[DIGEST_HEX_SIZE]; /* whose it is counted under; "" for nobody's. See exchange_share() */
    void *session;               /* what authorize() wants the handler to have; NULL */
    struct peer_watch *watch;    /* of the server; borrowed */
    struct cancel *cancel;       /* see exchange_cancel(); NULL until it is asked for */
    const char *body;            /* terminated; "" when there is none */
    size_t body_size;
    struct upgrade upgrade;        /* set by answer_upgrade() */
    struct MHD_Response *response; /* set by an answer_*() */
    unsigned status;
};

/* A route's handler: answers through exactly one of answer_*(), or returns -1 with an error that is then
 * answered. */
typedef int exchange_handler(struct exchange *exchange, struct error *err);

/* Who may call a route. Other values than AUTH_NONE mean what the server's authorize() takes them for. */
enum route_auth { AUTH_NONE, AUTH_OPERATOR = CAPABILITY_OPERATOR, AUTH_LEASE = CAPABILITY_LEASE };

struct route {
    const char *method;
    const char *path; /* "{id}" stands for one segment; a "/" at the end for everything below */
    enum route_auth auth;
    exchange_handler *handle;
};

/* A header of the request, or NULL; a query argument, or NULL. Borrowed. */
const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_argument(const struct exchange *exchange, const char *name);

/* The socket of its connection; borrowed, for shutdown(2) alone. */
int exchange_socket(const struct exchange *exchange);

/* Refuses a query argument outside the NULL-terminated list with ERROR_BAD_REQUEST. */
int exchange_arguments(const struct exchange *exchange, const char *const known[], struct error *err);

/* What every unknown path is refused with, and one that a caller may not know of: ERROR_NOT_FOUND. */
int exchange_no_path(struct error *err);

/*
 * Counts the request under a name, whose requests under way may be `most`, until it is over. ERROR_TOO_MANY
 * when they are.
 */
int exchange_share(struct exchange *exchange, const char *name, unsigned most, struct error *err);

/*
 * Fires when the client closes its connection while the handler works; watched from the first call until the
 * handler returns. Borrowed until then.
 */
struct cancel *exchange_cancel(struct exchange *exchange);

/* The handler has returned: nothing fires the cancel any more, and it is gone. For the server alone. */
void exchange_unwatch(struct exchange *exchange);

/* The body as JSON; ERROR_BAD_REQUEST when it is none, ERROR_TOO_LARGE over WEB_JSON_MAX. A new reference. */
json_t *exchange_json(const struct exchange *exchange, struct error *err);

/* Answers with a document; the reference is taken over. Returns 0. */
int answer_json(struct exchange *exchange, unsigned status, json_t *document);

/* Answers without a body. Returns 0. */
int answer_empty(struct exchange *exchange, unsigned status);

/* Answers with bytes from malloc(), which are taken over. Returns 0. */
int answer_bytes(struct exchange *exchange, const char *type, void *data, size_t size);

/* For how long a client may take nothing of an answer_shared() before its connection is closed, seconds. */
#define WEB_TAKE_S 10U

/* Answers with bytes that somebody else owns; release(owner) is called when they have been sent. Returns 0.
 */
int answer_shared(struct exchange *exchange, const char *type, const void *data, size_t size,
                  void (*release)(void *owner), void *owner);

/*
 * Answers with 101 where the server was started with upgrades. *upgrade is copied and its context taken over.
 * -1 with ERROR_INTERNAL, and then it is not.
 */
int answer_upgrade(struct exchange *exchange, const struct upgrade *upgrade, struct error *err);

/* Adds a header to the answer. */
void answer_header(struct exchange *exchange, const char *name, const char *value);

/* Answers with an error's document and status. */
void answer_error(struct exchange *exchange, const struct error *err);

/* The same with further fields; the reference is taken over. Returns 0. */
int answer_refusal(struct exchange *exchange, const struct error *err, json_t *fields);

#endif
