/*
 * WebSocket frames (RFC 6455), the server's side. Private to view/.
 *
 * What comes in is untrusted: it is taken apart by wslay, and judged here by the rules that a server has to
 * keep. Pure: bytes in, items out, no descriptor, no clock, and no memory that grows with what is sent.
 */
#ifndef BERTHOS_VIEW_FRAMES_H
#define BERTHOS_VIEW_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define FRAMES_CONTROL_MAX 125       /* bytes in a control frame; RFC 6455 section 5.5 */
#define FRAMES_MESSAGE_MAX (1 << 20) /* bytes in a message of a client */
#define FRAMES_HEADER_MAX  10        /* of a frame that a server sends */

/* RFC 6455 section 7.4.1; from 4000 on they are ours (CONTRACT.md section 5). */
enum close_code {
    CLOSE_NONE = 0,
    CLOSE_NORMAL = 1000,
    CLOSE_AWAY = 1001,
    CLOSE_PROTOCOL = 1002,
    CLOSE_UNSUPPORTED = 1003,
    CLOSE_NO_CODE = 1005, /* never sent: the peer's close frame had none */
    CLOSE_BAD_DATA = 1007,
    CLOSE_TOO_LARGE = 1009,
    CLOSE_LEASE_ENDED = 4001,
    CLOSE_REVOKED = 4002,
    CLOSE_SLOW = 4003,
    CLOSE_DISPLAY_LOST = 4004,
    CLOSE_NODE_STOPPING = 4005,
};

enum frame_opcode { FRAME_BINARY = 2, FRAME_CLOSE = 8, FRAME_PING = 9, FRAME_PONG = 10 };

struct frames; /* opaque: one client's incoming side */

/* *Owned*: frames_free(). Never NULL. */
struct frames *frames_new(void);
void frames_free(struct frames *frames);
CLEANUP_DEFINE(frames, struct frames *, frames_free);

enum frames_kind {
    FRAMES_MORE, /* all that was fed has been used */
    FRAMES_DATA, /* a piece of a binary message */
    FRAMES_PING, /* to be answered with a pong of the same bytes */
    FRAMES_PONG,
    FRAMES_CLOSE, /* the peer ends; `code` is its code, or CLOSE_NO_CODE */
    FRAMES_FAULT, /* the peer breaks the rules: close with `code` and `reason`; nothing else follows */
};

struct frames_item {
    enum frames_kind kind;
    const uint8_t *data; /* of data and ping; borrowed until the next call */
    size_t size;
    uint16_t code;
    const char *reason; /* static */
};

/* Gives bytes from the client. Borrowed until frames_next() has said FRAMES_MORE; feed nothing before. */
void frames_feed(struct frames *frames, const uint8_t *bytes, size_t size);

/* The next item. After FRAMES_CLOSE and FRAMES_FAULT it only says FRAMES_MORE, whatever else is fed. */
struct frames_item frames_next(struct frames *frames);

/* Writes the header of an unmasked, final frame; returns its length. */
size_t frames_header(uint8_t header[FRAMES_HEADER_MAX], enum frame_opcode opcode, uint64_t payload);

/* Writes a whole close frame; a reason that does not fit is cut. Returns its length. */
size_t frames_close(uint8_t frame[2 + FRAMES_CONTROL_MAX], uint16_t code, const char *reason);

#endif
