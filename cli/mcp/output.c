#include "mcp/output.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/sync.h"
#include "base/text.h"

/* With so much unwritten nothing more is read; what then still comes are the answers of calls under way. */
enum { UNWRITTEN_MAX = 4 * 1024 * 1024, LOOK_MS = 100 };

struct mcp_output {
    int fd;
    pthread_mutex_t mutex; /* guards what follows; not held while writing */
    pthread_cond_t changed;
    struct text_buffer lines; /* that wait */
    size_t unwritten;         /* bytes, with those that are being written */
    bool broken;              /* nobody reads any more */
};

static bool write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, text, size);
        if (done < 0 && errno == EAGAIN) {
            struct pollfd writable = {.fd = fd, .events = POLLOUT};
            poll(&writable, 1, -1);
        } else if (done < 0 && errno != EINTR) {
            return false;
        } else if (done > 0) {
            text += done;
            size -= (size_t)done;
        }
    }
    return true;
}

static void *write_lines(void *argument)
{
    struct mcp_output *output = argument;
    pthread_mutex_lock(&output->mutex);
    for (;;) {
        while (output->lines.size == 0)
            sync_cond_wait(&output->changed, &output->mutex, CLOCK_NEVER);
        CLEANUP_TEXT struct text_buffer lines = output->lines;
        output->lines = (struct text_buffer){0};
        bool broken = output->broken;
        pthread_mutex_unlock(&output->mutex);
        broken = broken || !write_all(output->fd, lines.text, lines.size);
        pthread_mutex_lock(&output->mutex);
        output->broken = broken;
        output->unwritten -= lines.size;
        pthread_cond_broadcast(&output->changed);
    }
    return NULL;
}

struct mcp_output *mcp_output_new(int fd, struct error *err)
{
    struct mcp_output *output = memory_new(sizeof *output);
    pthread_t thread;
    output->fd = fd;
    pthread_mutex_init(&output->mutex, NULL);
    sync_cond_init(&output->changed);
    if (sync_thread_start(&thread, "mcp-output", write_lines, output, err) < 0) {
        free(output);
        return NULL;
    }
    pthread_detach(thread);
    return output;
}

void mcp_output_line(void *context, char *text)
{
    struct mcp_output *output = context;
    CLEANUP_FREE char *line = text;
    size_t size = strlen(line) + 1;
    line[size - 1] = '\n'; /* JSON has none inside */
    LOCK_SCOPE(&output->mutex);
    if (!text_add(&output->lines, line, size))
        abort();
    output->unwritten += size;
    pthread_cond_broadcast(&output->changed);
}

/* Whether the other end of a pipe or socket has been closed; a file or terminal never says so here. */
static bool hung_up(int fd)
{
    struct pollfd input = {.fd = fd, .events = POLLRDHUP};
    return poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL));
}

bool mcp_output_ready(struct mcp_output *output, int input)
{
    LOCK_SCOPE(&output->mutex);
    while (!output->broken && output->unwritten > UNWRITTEN_MAX)
        if (!sync_cond_wait(&output->changed, &output->mutex, clock_deadline(LOOK_MS)) && hung_up(input))
            return false;
    return !output->broken;
}

bool mcp_output_flush(struct mcp_output *output, int64_t deadline_ms)
{
    LOCK_SCOPE(&output->mutex);
    while (output->unwritten > 0)
        if (!sync_cond_wait(&output->changed, &output->mutex, deadline_ms))
            break;
    return output->unwritten == 0 && !output->broken;
}
