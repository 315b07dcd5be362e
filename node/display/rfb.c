/* The thread of a session: libvncclient's client, from the handshake to the end. */
#include <errno.h>
#include <poll.h>
#include <rfb/rfbclient.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "display/session.h"

#define CELL_WIDTH                                                                                           \
    16 /* QEMU's dirty map: its rectangles begin and end at multiples of this, or at the edge */

/* What the thread alone knows. */
struct rfb {
    struct display *display;
    rfbClient *client;
    uint32_t width, height; /* of the pixels */
    uint32_t *pixels;       /* client->frameBuffer; 0x00RRGGBB */

    /* Which cells (16 pixels of one row) have not been sent since the size changed. */
    unsigned char *missing; /* one byte for each cell; NULL once all have arrived */
    size_t missing_count;

    uint64_t sequence; /* grows with each change */
    int64_t change_ms; /* when the last one was seen */
    int64_t fresh_ms;  /* everything drawn before this is in the pixels */

    bool fence_on;             /* a fence is under way */
    int64_t fence_ms;          /* when it was sent */
    uint32_t fence_x, fence_y; /* its pixel */
    uint32_t fence_turn; /* walks over the screen, so that no two fences in a row ask for the same pixel */

    /* Of the message that is being read. */
    bool got_pixels, got_fence, changed;
    const char *broken; /* why the server is not one that we talk to; NULL */
};

static int client_tag; /* its address names our data at the client */

static struct rfb *rfb_of(rfbClient *client)
{
    return rfbClientGetClientData(client, &client_tag);
}

/* libvncclient's loggers are global and take newline-terminated formats. */
__attribute__((format(printf, 1, 2))) static void log_line(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    line[strcspn(line, "\n")] = '\0';
    log_debug("display", "libvncclient: %s", line);
}

static void set_loggers(void)
{
    rfbClientLog = log_line;
    rfbClientErr = log_line;
}

/*
 * Called at the start and whenever the server says a new size.
 *
 * QEMU's acknowledgement of the extended key event is a rectangle as wide as its own buffer, which is the
 * screen's width rounded up to a multiple of 16 (seen with QEMU 7.2 at 1366), and the library ends the
 * session over a rectangle that is wider than its screen. So the library is told the rounded width; its
 * buffer is as large, for the decoders of encodings that nobody asked for, and our rows are packed at the
 * true width.
 */
static rfbBool make_pixels(rfbClient *client)
{
    struct rfb *rfb = rfb_of(client);
    free(client->frameBuffer);
    free(rfb->missing);
    client->frameBuffer = NULL;
    rfb->pixels = NULL;
    rfb->missing = NULL;
    if (client->width <= 0 || client->height <= 0 || client->width > EDGE_MAX || client->height > EDGE_MAX ||
        (uint32_t)client->width * (uint32_t)client->height > PIXELS_MAX) {
        rfb->broken = "the guest's display has a size that no screen has";
        return FALSE;
    }
    rfb->width = (uint32_t)client->width;
    rfb->height = (uint32_t)client->height;
    uint32_t across = (rfb->width + CELL_WIDTH - 1) / CELL_WIDTH;
    size_t cells = (size_t)across * rfb->height;
    client->width = (int)(across * CELL_WIDTH);
    rfb->missing = malloc(cells);
    rfb->pixels = calloc(cells * CELL_WIDTH, sizeof(uint32_t));
    client->frameBuffer = (uint8_t *)rfb->pixels;
    if (!rfb->missing || !rfb->pixels) {
        rfb->broken = "there is no memory left for the picture";
        return FALSE;
    }
    memset(rfb->missing, 1, cells);
    rfb->missing_count = cells;
    rfb->fence_on = false; /* its pixel may not exist any more, and all others are under way */
    return TRUE;
}

/* Strikes off the cells that a rectangle covers whole. */
static void strike_cells(struct rfb *rfb, uint32_t x, uint32_t y, uint32_t w, uint32_t h)
{
    uint32_t across = (rfb->width + CELL_WIDTH - 1) / CELL_WIDTH;
    uint32_t first = (x + CELL_WIDTH - 1) / CELL_WIDTH;
    uint32_t last = x + w == rfb->width ? across : (x + w) / CELL_WIDTH;
    for (uint32_t row = y; row < y + h; row++)
        for (uint32_t cell = first; cell < last; cell++) {
            unsigned char *slot = &rfb->missing[(size_t)row * across + cell];
            rfb->missing_count -= *slot;
            *slot = 0;
        }
    if (rfb->missing_count == 0) {
        free(rfb->missing);
        rfb->missing = NULL;
        rfb->changed = true;
    }
}

/* Raw pixels. The unused byte of QEMU's pixels may hold anything. */
static void got_bitmap(rfbClient *client, const uint8_t *buffer, int left, int top, int columns, int rows)
{
    struct rfb *rfb = rfb_of(client);
    uint32_t x = (uint32_t)left, y = (uint32_t)top, w = (uint32_t)columns, h = (uint32_t)rows;
    if (left < 0 || top < 0 || columns <= 0 || rows <= 0 || x + w > rfb->width || y + h > rfb->height)
        return;
    uint32_t difference = 0;
    for (uint32_t row = 0; row < h; row++) {
        uint32_t *to = rfb->pixels + (size_t)(y + row) * rfb->width + x;
        const uint8_t *from = buffer + (size_t)row * w * sizeof(uint32_t);
        for (uint32_t i = 0; i < w; i++) {
            uint32_t pixel;
            memcpy(&pixel, from + i * sizeof pixel, sizeof pixel);
            pixel &= 0xffffff;
            difference |= pixel ^ to[i];
            to[i] = pixel;
        }
    }
    rfb->got_pixels = true;
    rfb->changed |= difference != 0;
    if (rfb->fence_on && rfb->fence_x >= x && rfb->fence_x < x + w && rfb->fence_y >= y &&
        rfb->fence_y < y + h)
        rfb->got_fence = true;
    if (rfb->missing)
        strike_cells(rfb, x, y, w, h);
}

static void got_fill(rfbClient *client, int x, int y, int w, int h, uint32_t colour)
{
    (void)x, (void)y, (void)w, (void)h, (void)colour;
    rfb_of(client)->broken = "the display sends pixels in an encoding that was not asked for";
}

static void got_copy(rfbClient *client, int from_x, int from_y, int w, int h, int x, int y)
{
    (void)from_x, (void)from_y, (void)w, (void)h, (void)x, (void)y;
    rfb_of(client)->broken = "the display sends pixels in an encoding that was not asked for";
}

/* The display of a guest is reached through libvirt without a password; the default would ask on stdin. */
static char *no_password(rfbClient *client)
{
    (void)client;
    return NULL;
}

/* A client on the session's socket, set up but not connected. NULL without memory. */
static rfbClient *make_client(struct rfb *rfb)
{
    static pthread_once_t loggers = PTHREAD_ONCE_INIT;
    pthread_once(&loggers, set_loggers);
    rfbClient *client = rfbGetClient(8, 3, 4);
    if (!client)
        return NULL;
    struct display *display = rfb->display;
    client->sock = TAKE_FD(display->socket_fd);
    client->listenSpecified = TRUE; /* the descriptor is connected already */
    client->readTimeout = (unsigned)display->handshake_s;
    client->canHandleNewFBSize = TRUE;
    client->appData.shareDesktop = TRUE;
    client->appData.encodingsString = "raw";
    client->appData.useRemoteCursor = FALSE;
    client->format.bigEndian = FALSE;
    client->format.redShift = 16;
    client->format.greenShift = 8;
    client->format.blueShift = 0;
    client->GetPassword = no_password;
    client->MallocFrameBuffer = make_pixels;
    client->GotBitmap = got_bitmap;
    client->GotFillRect = got_fill;
    client->GotCopyRect = got_copy;
    rfbClientSetClientData(client, &client_tag, rfb);
    uint32_t schemes[] = {rfbNoAuth, 0};
    SetClientAuthSchemes(client, schemes, -1);
    return client;
}

/* Clears the mark that an echo sets, and says whether it was set. */
static bool take_echo(rfbClient *client)
{
    uint8_t *byte = &client->supportedMessages.client2server[rfbQemuEvent / 8];
    uint8_t bit = (uint8_t)(1u << (rfbQemuEvent % 8));
    bool set = *byte & bit;
    *byte &= (uint8_t)~bit;
    return set;
}

/* Kicks QEMU's refresh and asks for one pixel; see session.h. */
static bool send_fence(struct rfb *rfb)
{
    static const unsigned char kick[8] = {rfbClientCutText};
    uint32_t across = (rfb->width + CELL_WIDTH - 1) / CELL_WIDTH;
    rfb->fence_turn = (rfb->fence_turn + 1) % (across * rfb->height);
    rfb->fence_x = rfb->fence_turn % across * CELL_WIDTH;
    rfb->fence_y = rfb->fence_turn / across;
    rfb->fence_ms = clock_monotonic_ms();
    rfb->fence_on = true;
    return WriteToRFBServer(rfb->client, (const char *)kick, sizeof kick) &&
           SendFramebufferUpdateRequest(rfb->client, (int)rfb->fence_x, (int)rfb->fence_y, 1, 1, FALSE);
}

/* Makes the frame that was asked for out of pixels that are whole and fresh. */
static bool publish(struct rfb *rfb)
{
    struct display *display = rfb->display;
    struct display_frame *frame = NULL;
    /* Only this thread replaces the frame, so it may be looked at without the lock. */
    if (!display->frame || display->frame->sequence != rfb->sequence) {
        frame = frame_new(rfb->width, rfb->height);
        if (!frame) {
            rfb->broken = "there is no memory left for the picture";
            return false;
        }
        frame->sequence = rfb->sequence;
        frame->time_ms = rfb->change_ms;
        memcpy(frame->pixels, rfb->pixels, (size_t)rfb->width * rfb->height * sizeof(uint32_t));
    }
    LOCK_SCOPE(&display->mutex);
    if (frame) {
        display_frame_release(display->frame);
        display->frame = frame;
    }
    display->frame_ms = rfb->fresh_ms;
    pthread_cond_broadcast(&display->changed);
    return true;
}

/* Sends what callers have put into the outbox and looks after the frame they want. False: leave. */
static bool serve_callers(struct rfb *rfb)
{
    struct display *display = rfb->display;
    char bytes[OUTBOX_SIZE];
    size_t size;
    int64_t want_ms, frame_ms;
    bool stopping;
    {
        LOCK_SCOPE(&display->mutex);
        size = display->outbox_size;
        memcpy(bytes, display->outbox, size);
        display->outbox_size = 0;
        want_ms = display->want_ms;
        frame_ms = display->frame_ms;
        stopping = display->stopping;
    }
    if (size > 0 && !WriteToRFBServer(rfb->client, bytes, (unsigned)size))
        return false;
    if (stopping)
        return false;
    if (frame_ms >= want_ms)
        return true;
    if (!rfb->missing && rfb->fresh_ms >= want_ms)
        return publish(rfb);
    return rfb->fence_on || send_fence(rfb);
}

/* Reads one message. began_ms: when its first bytes were seen. False: the session is over. */
static bool read_message(struct rfb *rfb)
{
    int64_t began_ms = clock_monotonic_ms();
    rfb->got_pixels = rfb->got_fence = rfb->changed = false;
    if (!HandleRFBServerMessage(rfb->client) || rfb->broken)
        return false;
    bool echo = take_echo(rfb->client);
    if (rfb->got_pixels && began_ms > rfb->fresh_ms)
        rfb->fresh_ms = began_ms; /* pixels leave at a tick, with all that had changed by then */
    if (rfb->got_fence)
        rfb->fence_on = false;
    bool changed = rfb->changed && !rfb->missing;
    if (changed) {
        rfb->sequence++;
        rfb->change_ms = clock_monotonic_ms();
    }

    struct display *display = rfb->display;
    LOCK_SCOPE(&display->mutex);
    display->heard_ms = clock_monotonic_ms();
    display->width = rfb->width;
    display->height = rfb->height;
    display->sequence = rfb->sequence;
    display->echoes += echo;
    if (changed || echo)
        pthread_cond_broadcast(&display->changed);
    return true;
}

/* From the handshake to the end. Returns when the session is over. */
static void talk(struct rfb *rfb)
{
    struct display *display = rfb->display;
    for (;;) {
        if (!serve_callers(rfb))
            return;
        struct pollfd ready[2] = {{.fd = rfb->client->sock, .events = POLLIN},
                                  {.fd = display->wake_fd, .events = POLLIN}};
        /* The library reads ahead: what it has already is not seen by poll(). */
        if (rfb->client->buffered == 0 && poll(ready, 2, -1) < 0 && errno != EINTR)
            return;
        if (ready[1].revents) {
            eventfd_t count;
            eventfd_read(display->wake_fd, &count);
        }
        if ((rfb->client->buffered > 0 || ready[0].revents) && !read_message(rfb))
            return;
    }
}

/* Connects the client. False when the handshake fails; the library has then freed it. */
static bool shake_hands(struct rfb *rfb)
{
    rfb->client = make_client(rfb);
    if (!rfb->client)
        return false;
    /* The pixels outlive the client, which rfbInitClient() frees when it fails. */
    if (!rfbInitClient(rfb->client, NULL, NULL)) {
        rfb->client = NULL;
        return false;
    }
    rfb->client->readTimeout = MUTE_MS / 1000;
    /*
     * At once, from this thread: the library has told QEMU that it can follow ExtendedDesktopSize, which it
     * cannot (LibVNC issue 640), and a mode change before this message would end the session.
     */
    return WriteToRFBServer(rfb->client, (const char *)session_ping, SESSION_PING_SIZE);
}

void *rfb_run(void *argument)
{
    struct display *display = argument;
    struct rfb rfb = {.display = display, .fresh_ms = INT64_MIN};
    bool connected = shake_hands(&rfb);
    if (connected) {
        pthread_mutex_lock(&display->mutex);
        display->state = SESSION_RUNNING;
        display->width = rfb.width;
        display->height = rfb.height;
        display->heard_ms = clock_monotonic_ms();
        pthread_cond_broadcast(&display->changed);
        pthread_mutex_unlock(&display->mutex);
        talk(&rfb);
    }

    pthread_mutex_lock(&display->mutex);
    session_kill(display, rfb.broken ? rfb.broken
                          : connected
                              ? "QEMU closed the display's connection or stopped in the middle of a message"
                              : "the display does not answer as a VNC server does");
    pthread_mutex_unlock(&display->mutex);
    if (rfb.client)
        rfbClientCleanup(rfb.client);
    free(rfb.pixels);
    free(rfb.missing);
    return NULL;
}
