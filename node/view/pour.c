/*
 * Theory of operation: what QEMU writes lies in pages of its socket's. splice() hands these pages on to a
 * pipe and from there to the peer's socket, so nothing is copied here, and nothing of it is ever mapped into
 * the node. What the pipe took is the frame: its length is known before its header has to be sent. The pipe
 * is what holds the frame until the peer has room for it.
 */
#include "view/pour.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIPE_SIZE = 256 << 10 }; /* bytes: a little more than QEMU can write ahead of who reads */

int pour_open(struct pour *pour, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot take in another viewer");
    fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE); /* where it may not be so large, frames are smaller */
    *pour = (struct pour){.in = ends[1], .out = ends[0]};
    return 0;
}

void pour_free(struct pour *pour)
{
    close(pour->in);
    close(pour->out);
}

bool pour_idle(const struct pour *pour)
{
    return pour->head_at == pour->head_end && pour->payload == 0;
}

/* Whether a call that failed may succeed later. */
static bool only_waits(void)
{
    return errno == EAGAIN || errno == EINTR;
}

enum pour_taken pour_take(struct pour *pour, int vnc_fd)
{
    ssize_t got = splice(vnc_fd, NULL, pour->in, NULL, PIPE_SIZE, SPLICE_F_NONBLOCK);
    if (got < 0)
        return only_waits() ? POUR_NOTHING : POUR_ENDED;
    if (got == 0)
        return POUR_ENDED;
    pour->payload = (size_t)got;
    pour->head_at = 0;
    pour->head_end = frames_header(pour->head, FRAME_BINARY, pour->payload);
    return POUR_SOME;
}

void pour_control(struct pour *pour, enum frame_opcode opcode, const uint8_t *payload, size_t size)
{
    pour->head_at = 0;
    pour->head_end = frames_header(pour->head, opcode, size);
    memcpy(pour->head + pour->head_end, payload, size);
    pour->head_end += size;
}

void pour_goodbye(struct pour *pour, enum close_code code, const char *reason)
{
    pour->head_at = 0;
    pour->head_end = frames_close(pour->head, (uint16_t)code, reason);
}

/* One attempt at what comes next of the frame. As send(). */
static ssize_t send_next(struct pour *pour, int socket)
{
    if (pour->head_at == pour->head_end) {
        ssize_t sent = splice(pour->out, NULL, socket, NULL, pour->payload, SPLICE_F_NONBLOCK);
        pour->payload -= sent > 0 ? (size_t)sent : 0;
        return sent;
    }
    int more = pour->payload > 0 ? MSG_MORE : 0; /* a header goes out with the payload */
    ssize_t sent = send(socket, pour->head + pour->head_at, pour->head_end - pour->head_at,
                        MSG_NOSIGNAL | MSG_DONTWAIT | more);
    pour->head_at += sent > 0 ? (size_t)sent : 0;
    return sent;
}

ssize_t pour_send(struct pour *pour, int socket)
{
    ssize_t total = 0;
    while (!pour_idle(pour)) {
        ssize_t sent = send_next(pour, socket);
        if (sent < 0)
            return only_waits() ? total : -1;
        total += sent;
    }
    return total;
}
