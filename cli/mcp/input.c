#include "mcp/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"

enum { READ_BYTES = 64 * 1024 };

struct mcp_input {
    int fd;
    size_t line_max;
    size_t at, held; /* of `chunk`: what is given, what is read */
    bool skipping;   /* inside a line that was too long */
    bool ended;
    char chunk[READ_BYTES];
    char line[]; /* line_max bytes */
};

struct mcp_input *mcp_input_new(int fd, size_t line_max)
{
    struct mcp_input *input = memory_new(sizeof *input + line_max);
    input->fd = fd;
    input->line_max = line_max;
    return input;
}

void mcp_input_free(struct mcp_input *input)
{
    free(input);
}

static void read_chunk(struct mcp_input *input)
{
    ssize_t got;
    do {
        got = read(input->fd, input->chunk, READ_BYTES);
        if (got < 0 && errno == EAGAIN) { /* somebody made it non-blocking */
            struct pollfd readable = {.fd = input->fd, .events = POLLIN};
            poll(&readable, 1, -1);
        }
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    input->ended = got <= 0;
    input->at = 0;
    input->held = got > 0 ? (size_t)got : 0;
}

/* The next byte; false at the end of the line or of all. */
static bool take_byte(struct mcp_input *input, char *byte)
{
    if (input->at == input->held && !input->ended)
        read_chunk(input);
    if (input->ended)
        return false;
    *byte = input->chunk[input->at++];
    return *byte != '\n';
}

enum mcp_input_event mcp_input_next(struct mcp_input *input, const char **line, size_t *size)
{
    char byte;
    while (input->skipping)
        input->skipping = take_byte(input, &byte);
    for (*size = 0; take_byte(input, &byte); input->line[(*size)++] = byte)
        if (*size == input->line_max) {
            input->skipping = true;
            return MCP_INPUT_LONG;
        }
    *line = input->line;
    return input->ended && *size == 0 ? MCP_INPUT_END : MCP_INPUT_LINE;
}
