/*
 * Lines to a descriptor, from any thread and whole. A thread of its own writes them, so that a client which
 * does not read holds up nobody who could still notice that it has gone.
 */
#ifndef BERTHOS_CLI_MCP_OUTPUT_H
#define BERTHOS_CLI_MCP_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct mcp_output;

/* fd: borrowed. NULL when no thread can be had. Never freed before the process ends: its thread may be stuck.
 */
struct mcp_output *mcp_output_new(int fd, struct error *err);

/* Takes over the text of a line, without its newline. context: the output. */
void mcp_output_line(void *context, char *text);

/*
 * Waits until little is left to write. False when the reader of the output has gone, or when `input` (a
 * descriptor) has ended meanwhile.
 */
bool mcp_output_ready(struct mcp_output *output, int input);

/* Waits until all is written; false when the deadline (base/clock.h) passes before, or it cannot be written.
 */
bool mcp_output_flush(struct mcp_output *output, int64_t deadline_ms);

#endif
