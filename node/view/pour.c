#include "view/pour.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void pour_start(struct pour *pour)
{
    pour->at = pour->end = 0;
}

bool pour_idle(const struct pour *pour)
{
    return pour->at == pour->end;
}

/* Begins a frame whose payload of `size` bytes stands behind the room for a header. */
static void begin_frame(struct pour *pour, enum frame_opcode opcode, size_t size)
{
    uint8_t header[FRAMES_HEADER_MAX];
    size_t length = frames_header(header, opcode, size);
    pour->at = FRAMES_HEADER_MAX - length;
    pour->end = FRAMES_HEADER_MAX + size;
    memcpy(pour->bytes + pour->at, header, length);
}

enum pour_taken pour_take(struct pour *pour, int vnc_fd)
{
    ssize_t got = recv(vnc_fd, pour->bytes + FRAMES_HEADER_MAX, POUR_MAX, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? POUR_NOTHING : POUR_ENDED;
    if (got == 0)
        return POUR_ENDED;
    begin_frame(pour, FRAME_BINARY, (size_t)got);
    return POUR_SOME;
}

void pour_control(struct pour *pour, enum frame_opcode opcode, const uint8_t *payload, size_t size)
{
    memcpy(pour->bytes + FRAMES_HEADER_MAX, payload, size);
    begin_frame(pour, opcode, size);
}

void pour_close(struct pour *pour, enum close_code code, const char *reason)
{
    pour->at = 0;
    pour->end = frames_close(pour->bytes, (uint16_t)code, reason);
}

ssize_t pour_send(struct pour *pour, int socket)
{
    ssize_t total = 0;
    while (pour->at < pour->end) {
        ssize_t sent =
            send(socket, pour->bytes + pour->at, pour->end - pour->at, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR ? total : -1;
        pour->at += (size_t)sent;
        total += sent;
    }
    return total;
}
