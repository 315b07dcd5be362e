/*
 * The revisions of MCP and what each has. Those up to 2025-11-25 begin with `initialize`; from 2026-07-28 on
 * each request says for itself which revision it is of.
 */
#ifndef BERTHOS_CLI_MCP_REVISION_H
#define BERTHOS_CLI_MCP_REVISION_H

#include <jansson.h>
#include <stdbool.h>

struct mcp_revision {
    const char *name;
    bool stateless;        /* no initialize, no ping; _meta on each request, resultType in each result */
    bool batches;          /* arrays of messages */
    bool annotations;      /* of tools; `message` in progress notifications */
    bool structured;       /* structuredContent, outputSchema, titles */
    bool described_server; /* `description` in serverInfo */
};

/* The revision of a name, or NULL. Static. */
const struct mcp_revision *mcp_revision_find(const char *name);

/* The newest one that `initialize` can agree on. */
const struct mcp_revision *mcp_revision_latest_initialized(void);

/* The names of all, the newest first. A new reference. */
json_t *mcp_revision_names(void);

#endif
