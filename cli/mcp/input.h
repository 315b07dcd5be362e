/* Lines from a descriptor, bounded: one that is too long is told of once and skipped, and the next is whole
 * again. */
#ifndef BERTHOS_CLI_MCP_INPUT_H
#define BERTHOS_CLI_MCP_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

enum mcp_input_event {
    MCP_INPUT_LINE,
    MCP_INPUT_LONG, /* a line of more than the limit */
    MCP_INPUT_END,  /* also when reading fails */
};

struct mcp_input;

/* fd: borrowed. line_max: bytes of a line without its newline. *Owned*. */
struct mcp_input *mcp_input_new(int fd, size_t line_max);

/*
 * Waits for the next line; *line is borrowed until the next call, without its newline and not terminated. The
 * last line may lack its newline.
 */
enum mcp_input_event mcp_input_next(struct mcp_input *input, const char **line, size_t *size);

void mcp_input_free(struct mcp_input *input);
CLEANUP_DEFINE(mcp_input, struct mcp_input *, mcp_input_free);
#define CLEANUP_MCP_INPUT CLEANUP(cleanup_mcp_input)

#endif
