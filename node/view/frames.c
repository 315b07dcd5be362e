#include "view/frames.h"

#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>

#include "base/text.h"

struct frames {
    wslay_frame_context_ptr context;
    const uint8_t *bytes; /* what was fed and wslay has not taken yet */
    size_t size;
    bool over;        /* closed or at fault */
    bool in_frame;    /* a frame's header has been judged and its payload is not complete */
    bool in_message;  /* a binary message has begun and not ended */
    uint8_t opcode;   /* of the frame */
    uint64_t left;    /* bytes of its payload that are to come */
    uint64_t message; /* bytes of the message so far, the present frame's announced ones included */
    uint8_t control[FRAMES_CONTROL_MAX];
    size_t control_size;
};

/* wslay asks for bytes as a socket would give them; -1 with nothing left makes it say "want read". */
static ssize_t give_bytes(uint8_t *buffer, size_t room, int flags, void *context)
{
    struct frames *frames = context;
    (void)flags;
    size_t count = frames->size < room ? frames->size : room;
    if (count == 0)
        return -1;
    memcpy(buffer, frames->bytes, count);
    frames->bytes += count;
    frames->size -= count;
    return (ssize_t)count;
}

struct frames *frames_new(void)
{
    const struct wslay_frame_callbacks callbacks = {.recv_callback = give_bytes};
    struct frames *frames = calloc(1, sizeof *frames);
    if (!frames || wslay_frame_context_init(&frames->context, &callbacks, frames) != 0)
        abort();
    return frames;
}

void frames_free(struct frames *frames)
{
    wslay_frame_context_free(frames->context);
    free(frames);
}

void frames_feed(struct frames *frames, const uint8_t *bytes, size_t size)
{
    frames->bytes = bytes;
    frames->size = frames->over ? 0 : size;
}

static struct frames_item item_of(enum frames_kind kind)
{
    return (struct frames_item){.kind = kind};
}

static struct frames_item fault_of(struct frames *frames, enum close_code code, const char *reason)
{
    frames->over = true;
    return (struct frames_item){.kind = FRAMES_FAULT, .code = (uint16_t)code, .reason = reason};
}

static bool is_control(uint8_t opcode)
{
    return opcode >= WSLAY_CONNECTION_CLOSE;
}

/* Judges a frame by its header. Returns a fault, or an item of kind FRAMES_MORE. */
static struct frames_item begin_frame(struct frames *frames, const struct wslay_frame_iocb *frame)
{
    if (!frame->mask)
        return fault_of(frames, CLOSE_PROTOCOL, "a client's frames must be masked");
    if (frame->rsv)
        return fault_of(frames, CLOSE_PROTOCOL, "no extension was agreed on");
    if (frame->opcode == WSLAY_TEXT_FRAME)
        return fault_of(frames, CLOSE_UNSUPPORTED, "only binary messages are taken");
    if (is_control(frame->opcode)) {
        if (frame->opcode > WSLAY_PONG)
            return fault_of(frames, CLOSE_PROTOCOL, "unknown opcode");
        if (!frame->fin || frame->payload_length > FRAMES_CONTROL_MAX)
            return fault_of(frames, CLOSE_PROTOCOL, "a control frame is whole and short");
        frames->control_size = 0;
    } else {
        if (frame->opcode > WSLAY_BINARY_FRAME)
            return fault_of(frames, CLOSE_PROTOCOL, "unknown opcode");
        if (frames->in_message != (frame->opcode == WSLAY_CONTINUATION_FRAME))
            return fault_of(frames, CLOSE_PROTOCOL, "a message's frames come one after the other");
        if (!frames->in_message)
            frames->message = 0;
        if (frame->payload_length > FRAMES_MESSAGE_MAX - frames->message)
            return fault_of(frames, CLOSE_TOO_LARGE, "the message is too large");
        frames->message += frame->payload_length;
        frames->in_message = !frame->fin;
    }
    frames->in_frame = true;
    frames->opcode = frame->opcode;
    frames->left = frame->payload_length;
    return item_of(FRAMES_MORE);
}

/* RFC 6455 section 7.4: which codes may stand in a close frame. */
static bool code_may_be_sent(uint16_t code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

static bool is_utf8(const uint8_t *text, size_t size)
{
    uint32_t point;
    while (size > 0) {
        size_t length = text_decode((const char *)text, size, &point);
        if (length == 0)
            return false;
        text += length;
        size -= length;
    }
    return true;
}

static struct frames_item peer_closes(struct frames *frames)
{
    const uint8_t *body = frames->control;
    if (frames->control_size == 1)
        return fault_of(frames, CLOSE_PROTOCOL, "a close frame holds no half of a code");
    uint16_t code = CLOSE_NO_CODE;
    if (frames->control_size >= 2) {
        code = (uint16_t)(body[0] << 8 | body[1]);
        if (!code_may_be_sent(code))
            return fault_of(frames, CLOSE_PROTOCOL, "a close frame has a code that may not be sent");
        if (!is_utf8(body + 2, frames->control_size - 2))
            return fault_of(frames, CLOSE_BAD_DATA, "the reason in a close frame is not UTF-8");
    }
    frames->over = true;
    return (struct frames_item){.kind = FRAMES_CLOSE, .code = code};
}

/* A control frame is complete. */
static struct frames_item end_control(struct frames *frames)
{
    if (frames->opcode == WSLAY_CONNECTION_CLOSE)
        return peer_closes(frames);
    struct frames_item item = item_of(frames->opcode == WSLAY_PING ? FRAMES_PING : FRAMES_PONG);
    item.data = frames->control;
    item.size = frames->control_size;
    return item;
}

struct frames_item frames_next(struct frames *frames)
{
    while (!frames->over) {
        struct wslay_frame_iocb frame = {0};
        ssize_t got = wslay_frame_recv(frames->context, &frame);
        if (got == WSLAY_ERR_WANT_READ)
            return item_of(FRAMES_MORE);
        if (got < 0)
            return fault_of(frames, CLOSE_PROTOCOL, "a frame is malformed");
        if (!frames->in_frame) {
            struct frames_item judged = begin_frame(frames, &frame);
            if (judged.kind == FRAMES_FAULT)
                return judged;
        }
        frames->left -= frame.data_length;
        frames->in_frame = frames->left > 0;
        if (is_control(frames->opcode)) {
            memcpy(frames->control + frames->control_size, frame.data, frame.data_length);
            frames->control_size += frame.data_length;
            if (!frames->in_frame)
                return end_control(frames);
        } else if (frame.data_length > 0) {
            return (struct frames_item){.kind = FRAMES_DATA, .data = frame.data, .size = frame.data_length};
        }
    }
    return item_of(FRAMES_MORE);
}

size_t frames_header(uint8_t header[FRAMES_HEADER_MAX], enum frame_opcode opcode, uint64_t payload)
{
    size_t lengths = payload < 126 ? 0 : payload <= UINT16_MAX ? 2 : 8; /* RFC 6455 section 5.2 */
    header[0] = (uint8_t)(0x80 | opcode);
    header[1] = lengths == 0 ? (uint8_t)payload : lengths == 2 ? 126 : 127;
    for (size_t i = 0; i < lengths; i++)
        header[2 + i] = (uint8_t)(payload >> 8 * (lengths - 1 - i));
    return 2 + lengths;
}

size_t frames_close(uint8_t frame[2 + FRAMES_CONTROL_MAX], uint16_t code, const char *reason)
{
    size_t length = strnlen(reason, FRAMES_CONTROL_MAX - 2);
    uint8_t header[FRAMES_HEADER_MAX];
    size_t at = frames_header(header, FRAME_CLOSE, 2 + length);
    memcpy(frame, header, at);
    frame[at++] = (uint8_t)(code >> 8);
    frame[at++] = (uint8_t)code;
    memcpy(frame + at, reason, length);
    return at + length;
}
