/*
 * The server's side of MCP over lines: each line in gives at most one line out at once, and tool calls answer
 * when they are done. Both eras are served on one stream: a request with the stateless era's _meta is of
 * that, all others belong to the session that `initialize` began.
 */
#ifndef BERTHOS_CLI_MCP_SERVER_H
#define BERTHOS_CLI_MCP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "mcp/node.h"

/* The longest line that is read. */
enum { MCP_LINE_MAX = 1024 * 1024 };

struct mcp_server;

/* Takes a line without its newline over. Called from any thread, one at a time. */
typedef void mcp_write(void *context, char *line);

/* threads: how many calls run at once; 0 runs each inside mcp_server_line(). node is borrowed. *Owned*. */
struct mcp_server *mcp_server_new(struct mcp_node *node, unsigned threads, mcp_write *write, void *context);

/* One line of input, without its newline. Called by one thread. */
void mcp_server_line(struct mcp_server *server, const char *line, size_t size);

/* A line that was too long and was not kept. */
void mcp_server_long_line(struct mcp_server *server);

/* Waits for the calls under way, until the deadline (base/clock.h); false when some are left. */
bool mcp_server_wait(struct mcp_server *server, int64_t deadline_ms);

/* Cancels the calls under way; they are not answered. */
void mcp_server_stop(struct mcp_server *server);

/* Only when no call is under way. */
void mcp_server_free(struct mcp_server *server);
CLEANUP_DEFINE(mcp_server, struct mcp_server *, mcp_server_free);
#define CLEANUP_MCP_SERVER CLEANUP(cleanup_mcp_server)

#endif
