/* One request and its answer, as the routes see them. Private to http/. */
#ifndef BERTHOS_HTTP_EXCHANGE_H
#define BERTHOS_HTTP_EXCHANGE_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"

#define HTTP_BODY_MAX (1 << 20) /* bytes; more is 413 */

struct exchange {
    const struct http_context *context;
    struct MHD_Connection *connection;
    char id[LEASE_ID_SIZE + 64]; /* what stands for {id} in the path; may be no valid id */
    struct pairing_grant grant;  /* of the token, where the route asks for one */
    const char *body;            /* terminated; "" when there is none */
    size_t body_size;
    struct MHD_Response *response; /* set by an answer_*() */
    unsigned status;
};

/* A route's handler: answers through exactly one of answer_*(), or returns -1 with an error that is then
 * answered. */
typedef int exchange_handler(struct exchange *exchange, struct error *err);

/* Who may call a route. */
enum route_auth { AUTH_NONE, AUTH_OPERATOR = CAPABILITY_OPERATOR, AUTH_LEASE = CAPABILITY_LEASE };

struct route {
    const char *method;
    const char *path; /* "{id}" stands for one segment */
    enum route_auth auth;
    exchange_handler *handle;
};

/* The tables of the resources, each ended by a route without a method. */
extern const struct route routes_node[];
extern const struct route routes_pairing[];
extern const struct route routes_leases[];
extern const struct route routes_screen[];

/* A header of the request, or NULL; a query argument, or NULL. Borrowed. */
const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_argument(const struct exchange *exchange, const char *name);

/* Refuses a query argument outside the NULL-terminated list with ERROR_BAD_REQUEST. */
int exchange_arguments(const struct exchange *exchange, const char *const known[], struct error *err);

/* The body as JSON; ERROR_BAD_REQUEST when it is none. A new reference. */
json_t *exchange_json(const struct exchange *exchange, struct error *err);

/* Answers with a document; the reference is taken over. Returns 0. */
int answer_json(struct exchange *exchange, unsigned status, json_t *document);

/* Answers without a body. Returns 0. */
int answer_empty(struct exchange *exchange, unsigned status);

/* Answers with bytes from malloc(), which are taken over. Returns 0. */
int answer_bytes(struct exchange *exchange, const char *type, void *data, size_t size);

/* Adds a header to the answer. */
void answer_header(struct exchange *exchange, const char *name, const char *value);

/* Answers with an error's document and status. */
void answer_error(struct exchange *exchange, const struct error *err);

#endif
