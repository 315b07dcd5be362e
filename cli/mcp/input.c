#include "mcp/input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024 };

struct mcp_input {
    int fd;
    size_t line_max;
    char *data;      /* room for a line and what is read at once. Owned */
    size_t room;     /* grows with the longest line, up to the limit */
    size_t from, to; /* what is read and not yet given */
    size_t searched; /* from `from` on, without a newline */
    bool skipping;   /* inside a line that was too long */
    bool ended;
};

struct mcp_input *mcp_input_new(int fd, size_t line_max)
{
    struct mcp_input *input = calloc(1, sizeof *input);
    if (!input || !(input->data = malloc(READ_BYTES)))
        abort();
    input->fd = fd;
    input->line_max = line_max;
    input->room = READ_BYTES;
    return input;
}

void mcp_input_free(struct mcp_input *input)
{
    if (!input)
        return;
    free(input->data);
    free(input);
}

/* Makes room behind what is there; the limit and one reading are the most that is ever needed. */
static void make_room(struct mcp_input *input)
{
    size_t held = input->to - input->from;
    memmove(input->data, input->data + input->from, held);
    input->from = 0;
    input->to = held;
    if (held < input->room)
        return;
    size_t most = input->line_max + READ_BYTES;
    input->room = input->room * 2 < most ? input->room * 2 : most;
    char *larger = realloc(input->data, input->room);
    if (!larger)
        abort();
    input->data = larger;
}

static void read_more(struct mcp_input *input)
{
    if (input->to == input->room)
        make_room(input);
    ssize_t got;
    do {
        got = read(input->fd, input->data + input->to, input->room - input->to);
        if (got < 0 && errno == EAGAIN) { /* somebody made it non-blocking */
            struct pollfd readable = {.fd = input->fd, .events = POLLIN};
            poll(&readable, 1, -1);
        }
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got <= 0)
        input->ended = true;
    else
        input->to += (size_t)got;
}

enum mcp_input_event mcp_input_next(struct mcp_input *input, const char **line, size_t *size)
{
    for (;;) {
        char *start = input->data + input->from;
        size_t held = input->to - input->from;
        const char *newline = memchr(start + input->searched, '\n', held - input->searched);
        size_t length = newline ? (size_t)(newline - start) : held;
        input->searched = newline ? 0 : held;
        if (input->skipping || length > input->line_max) {
            bool told = input->skipping;
            input->skipping = !newline;
            input->from += newline ? length + 1 : held;
            input->searched = 0;
            if (!told)
                return MCP_INPUT_LONG;
        } else if (newline || (input->ended && held > 0)) {
            input->from += newline ? length + 1 : held;
            input->searched = 0;
            *line = start;
            *size = length;
            return MCP_INPUT_LINE;
        }
        if (newline)
            continue;
        if (input->ended)
            return MCP_INPUT_END;
        read_more(input);
    }
}
