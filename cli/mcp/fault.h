/*
 * What a tool says when it cannot do what it was asked: a machine word and a sentence for the model.
 * Sentences are fixed and say what to do; they hold no path, no token and nothing that came out of the guest.
 */
#ifndef BERTHOS_CLI_MCP_FAULT_H
#define BERTHOS_CLI_MCP_FAULT_H

#include <jansson.h>

#include "base/error.h"

struct mcp_fault {
    const char *code; /* static; "" for none */
    char text[1024];
};

#define MCP_FAULT_INIT                                                                                       \
    {                                                                                                        \
        .code = "", .text = ""                                                                               \
    }

/* Sets the fault of a word of the table in fault.c. Always returns -1. */
int mcp_fault_set(struct mcp_fault *fault, const char *code);

/* A fault of the arguments, with our own sentence about them. Always returns -1. */
int mcp_fault_arguments(struct mcp_fault *fault, const struct error *err);

/*
 * What the client of a node said. word: the machine word of a refusal, "" where the node did not answer as
 * one. Only sentences about the arguments are passed on: they are the node's own and speak of nothing else.
 */
int mcp_fault_from_node(struct mcp_fault *fault, const char *word, const struct error *err);

/* The result of tools/call that a model sees. A new reference. */
json_t *mcp_fault_result(const struct mcp_fault *fault);

#endif
