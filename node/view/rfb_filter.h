/*
 * What a viewer may say to QEMU's VNC server: an incremental parser of the RFB client's side (RFC 6143, and
 * the community's register for what is not in it), which lets looking and typing through and nothing else.
 * Private to view/.
 *
 * Pure: bytes in, bytes out. What comes out is whole messages in the order they came, except for a clipboard
 * text, which passes as it arrives; rfb_filter_owed() says what is missing of one that was cut off.
 *
 * - ProtocolVersion 3.3, 3.7 or 3.8; security "none"; ClientInit with the shared flag set, so that nobody is
 *   thrown out.
 * - SetPixelFormat with a format that makes sense. SetEncodings with the encodings of pictures, the pointer's
 *   shape, the screen's size and the QEMU key event: without the others QEMU does not offer sound, power
 *   control, a resize by the viewer or the extended clipboard.
 * - FramebufferUpdateRequest.
 * - In control mode KeyEvent, the QEMU key event, PointerEvent, and ClientCutText up to 256 KiB. In watch
 * mode they are taken off.
 * - SetDesktopSize, fences, continuous updates and the extended clipboard are taken off: some viewers send
 *   them unasked. Anything else ends the viewer.
 */
#ifndef BERTHOS_VIEW_RFB_FILTER_H
#define BERTHOS_VIEW_RFB_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/frames.h"

#define RFB_CLIPBOARD_MAX (256 << 10) /* bytes of text */
#define RFB_ENCODINGS_MAX 256         /* in one SetEncodings */
#define RFB_MESSAGE_MAX   (4 + 4 * RFB_ENCODINGS_MAX)

/* Told of each key and pointer message before it is let through. */
struct rfb_hooks {
    void *context;
    /* key: as holds_key() takes it. False: the message is taken off. */
    bool (*key)(void *context, uint32_t key, bool down);
    void (*pointer)(void *context, uint16_t x, uint16_t y, uint8_t buttons);
};

enum rfb_step {
    RFB_VERSION,
    RFB_SECURITY,
    RFB_INIT,
    RFB_TYPE, /* a message begins */
    RFB_BODY, /* a message of known length, or the part of it that tells the length */
    RFB_PASS, /* the rest of it passes */
    RFB_DROP, /* the rest of it does not */
};

/* All of it is private to rfb_filter.c. */
struct rfb_filter {
    bool watch;
    struct rfb_hooks hooks;
    enum rfb_step step;
    size_t have, need; /* bytes of the message: that are here; that the step waits for */
    size_t left;       /* bytes that RFB_PASS and RFB_DROP have to go through */
    uint8_t message[RFB_MESSAGE_MAX];
};

/* hooks are copied; what they point to is borrowed for the life of the filter. */
void rfb_filter_start(struct rfb_filter *filter, bool watch, const struct rfb_hooks *hooks);

struct rfb_fault {
    enum close_code code; /* CLOSE_NONE: none */
    const char *reason;   /* static */
};

/*
 * Takes `size` bytes from the viewer and writes what may pass to `out`, which has room for
 * rfb_filter_room(size); returns how much that is. With a fault in *fault the viewer is to be closed; what
 * was written before may pass.
 */
size_t rfb_filter_run(struct rfb_filter *filter, const uint8_t *bytes, size_t size, uint8_t *out,
                      struct rfb_fault *fault);

/* The most that rfb_filter_run() writes for `size` bytes: a message may have been waiting for its last byte.
 */
static inline size_t rfb_filter_room(size_t size)
{
    return size + RFB_MESSAGE_MAX;
}

/* Whether the handshake is over, so that messages may be sent to QEMU. */
bool rfb_filter_ready(const struct rfb_filter *filter);

/* How many bytes are owed to QEMU before another message may begin: the rest of a text that is passing. */
size_t rfb_filter_owed(const struct rfb_filter *filter);

/* Write a message of ours: returns its length. */
#define RFB_KEY_SIZE     12
#define RFB_POINTER_SIZE 6
size_t rfb_write_key_up(uint8_t message[RFB_KEY_SIZE], uint32_t key);
size_t rfb_write_pointer(uint8_t message[RFB_POINTER_SIZE], uint16_t x, uint16_t y, uint8_t buttons);

#endif
