/*
 * JSON-RPC 2.0 as MCP uses it: what a message is, and how answers are written. Nothing here knows what a
 * method means.
 */
#ifndef BERTHOS_CLI_MCP_MESSAGE_H
#define BERTHOS_CLI_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

/* The error codes of JSON-RPC 2.0 section 5.1, and the one of MCP 2026-07-28 that a server of tools needs. */
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_UNSUPPORTED_VERSION = -32022,
};

enum mcp_message_kind {
    MCP_REQUEST,
    MCP_NOTIFICATION,
    MCP_RESPONSE, /* to nothing that we asked */
    MCP_INVALID,
};

/* A message, borrowed from the document that it was read from. */
struct mcp_message {
    enum mcp_message_kind kind;
    const json_t *id;     /* a string or number; NULL where there is none that could be answered to */
    const char *method;   /* of requests and notifications */
    const json_t *params; /* an object, or NULL */
    const char *fault;    /* what makes it invalid. Static */
};

/* Tells what a value is. It may be of any type. */
struct mcp_message mcp_message_read(const json_t *value);

/* Whether a value may be the id of a request: a string, or a number without a fraction. */
bool mcp_id_valid(const json_t *value);

/* A string of a text that may have been cut inside a character: what is no UTF-8 is left out. A new
 * reference. */
json_t *mcp_text(const char *text);

/* An answer; `result` is a reference that is taken over. id: NULL gives null. A new reference. */
json_t *mcp_answer(const json_t *id, json_t *result);

/* An answer that is an error; `data` may be NULL, else it is a reference that is taken over. A new reference.
 */
json_t *mcp_error(const json_t *id, enum mcp_code code, const char *sentence, json_t *data);

#endif
