/*
 * The RFB client of a guest's display: libvncclient as this house uses it, and the only file that knows the
 * library. It asks for raw pixels alone, puts them into a canvas, and knows the fence and the echo
 * (session.h). It waits for nothing but the socket and belongs to one thread. Private to display/.
 */
#ifndef BERTHOS_DISPLAY_RFB_CLIENT_H
#define BERTHOS_DISPLAY_RFB_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "display/canvas.h"

struct rfb_client {
    /* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): libvncclient calls it so */
    struct _rfbClient *library; /* NULL while not connected; owned */
    struct canvas canvas;       /* its pixels are the library's frame buffer */

    bool fence_on;             /* a fence is under way */
    int64_t fence_ms;          /* when it was sent, monotonic */
    uint32_t fence_x, fence_y; /* its pixel */
    uint32_t fence_turn; /* walks over the screen, so that no two fences in a row ask for the same pixel */

    /* What the message held that rfb_client_read() has read. */
    bool got_pixels, got_fence, resized, echo;

    const char *broken; /* why the server is not one that we talk to: the end of a sentence; NULL */
};

/* Shakes hands with the server on a connected descriptor (*transferred*). Each wait for it ends after
 * handshake_s seconds, later ones after mute_s. False when it is no VNC server. */
bool rfb_client_connect(struct rfb_client *client, int fd, unsigned handshake_s, unsigned mute_s);

/* Ends the connection and frees what the client owns. */
void rfb_client_clear(struct rfb_client *client);

/* The socket, to be polled. */
int rfb_client_fd(const struct rfb_client *client);

/* Whether the library has read ahead: poll() does not see that. */
bool rfb_client_is_ahead(const struct rfb_client *client);

/* Reads one message. False: the connection is over. */
bool rfb_client_read(struct rfb_client *client);

/* These send. False: the connection is over. */
bool rfb_client_send(struct rfb_client *client, const unsigned char *bytes, size_t size);

/* Kicks QEMU's refresh and asks for one pixel, or for all of a screen that is not whole yet. */
bool rfb_client_fence(struct rfb_client *client);

/* Asks QEMU to send the next change as soon as it sees it. */
bool rfb_client_follow(struct rfb_client *client);

#endif
