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
#include "display/canvas.h"
#include "display/session.h"

#define KICK_SIZE    8 /* ClientCutText without text, RFC 6143 section 7.5.6 */
#define REQUEST_SIZE 10

/* What the thread alone knows. */
struct rfb {
    struct display *display;
    rfbClient *client;
    struct canvas canvas; /* its pixels are client->frameBuffer */

    uint64_t sequence; /* grows with each change */
    int64_t change_ms; /* when the last one was seen */
    int64_t fresh_ms;  /* everything drawn before this is in the pixels */

    bool follow;               /* the next change is to be asked for */
    bool asked;                /* QEMU is to send the next change by itself */
    bool fence_on;             /* a fence is under way */
    int64_t fence_ms;          /* when it was sent */
    uint32_t fence_x, fence_y; /* its pixel */
    uint32_t fence_turn; /* walks over the screen, so that no two fences in a row ask for the same pixel */

    /* Of the message that is being read. */
    bool got_pixels, got_fence, resized;
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
    client->frameBuffer = NULL; /* the canvas's own, and about to go */
    if (client->width <= 0 || client->height <= 0 || client->width > EDGE_MAX || client->height > EDGE_MAX ||
        (uint32_t)client->width * (uint32_t)client->height > PIXELS_MAX) {
        rfb->broken = "the guest's display has a size that no screen has";
        return FALSE;
    }
    if (!canvas_resize(&rfb->canvas, (uint32_t)client->width, (uint32_t)client->height)) {
        rfb->broken = "there is no memory left for the picture";
        return FALSE;
    }
    client->width = (client->width + CELL_WIDTH - 1) / CELL_WIDTH * CELL_WIDTH;
    client->frameBuffer = (uint8_t *)rfb->canvas.pixels;
    rfb->resized = true;
    rfb->fence_on = false; /* its pixel may not exist any more, and all others are under way */
    return TRUE;
}

/* Raw pixels. */
static void got_bitmap(rfbClient *client, const uint8_t *buffer, int left, int top, int columns, int rows)
{
    struct rfb *rfb = rfb_of(client);
    uint32_t x = (uint32_t)left, y = (uint32_t)top, w = (uint32_t)columns, h = (uint32_t)rows;
    if (left < 0 || top < 0 || columns <= 0 || rows <= 0 || x + w > rfb->canvas.width ||
        y + h > rfb->canvas.height)
        return;
    canvas_put(&rfb->canvas, buffer, x, y, w, h);
    rfb->got_pixels = true;
    if (rfb->fence_on && rfb->fence_x >= x && rfb->fence_x < x + w && rfb->fence_y >= y &&
        rfb->fence_y < y + h)
        rfb->got_fence = true;
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

/* FramebufferUpdateRequest, RFC 6143 section 7.5.3. */
static void request_bytes(unsigned char bytes[REQUEST_SIZE], bool incremental, uint32_t x, uint32_t y,
                          uint32_t w, uint32_t h)
{
    const unsigned char message[REQUEST_SIZE] = {
        rfbFramebufferUpdateRequest, incremental,      (unsigned char)(x >> 8), (unsigned char)x,
        (unsigned char)(y >> 8),     (unsigned char)y, (unsigned char)(w >> 8), (unsigned char)w,
        (unsigned char)(h >> 8),     (unsigned char)h};
    memcpy(bytes, message, REQUEST_SIZE);
}

/* Kicks QEMU's refresh and asks for one pixel, or for all of a picture that is not whole yet; see session.h.
 */
static bool send_fence(struct rfb *rfb)
{
    unsigned char bytes[KICK_SIZE + REQUEST_SIZE] = {rfbClientCutText};
    uint32_t across = (rfb->canvas.width + CELL_WIDTH - 1) / CELL_WIDTH;
    rfb->fence_turn = (rfb->fence_turn + 1) % (across * rfb->canvas.height);
    rfb->fence_x = rfb->fence_turn % across * CELL_WIDTH;
    rfb->fence_y = rfb->fence_turn / across;
    if (rfb->canvas.missing)
        request_bytes(bytes + KICK_SIZE, false, 0, 0, rfb->canvas.width, rfb->canvas.height);
    else
        request_bytes(bytes + KICK_SIZE, false, rfb->fence_x, rfb->fence_y, 1, 1);
    rfb->fence_ms = clock_monotonic_ms();
    rfb->fence_on = true;
    return WriteToRFBServer(rfb->client, (const char *)bytes, sizeof bytes);
}

/* Asks QEMU to send the next change as soon as it sees it. */
static bool ask_along(struct rfb *rfb)
{
    unsigned char bytes[REQUEST_SIZE];
    request_bytes(bytes, true, 0, 0, rfb->canvas.width, rfb->canvas.height);
    rfb->asked = true;
    rfb->follow = false;
    return WriteToRFBServer(rfb->client, (const char *)bytes, sizeof bytes);
}

/* Makes the frame that was asked for out of pixels that are whole and fresh. */
static bool publish(struct rfb *rfb)
{
    struct display *display = rfb->display;
    struct frame *frame = NULL;
    /* Only this thread replaces the frame, so it may be looked at without the lock. */
    if (!display->frame || display->frame->sequence != rfb->sequence) {
        frame = frame_copy(display, &rfb->canvas, rfb->sequence, rfb->change_ms);
        if (!frame) {
            rfb->broken = "there is no memory left for the picture";
            return false;
        }
    }
    LOCK_SCOPE(&display->mutex);
    if (frame) {
        frame_release(display->spare);
        display->spare = frame_retire(display->frame);
        display->frame = frame;
        shots_forget(display);
    }
    display->frame_ms = rfb->fresh_ms;
    pthread_cond_broadcast(&display->changed);
    return true;
}

/* What callers want, taken from the session at once. */
struct wants {
    char bytes[OUTBOX_SIZE]; /* to be sent */
    size_t size;
    bool stopping, frame, fence;
};

static void take_wants(struct rfb *rfb, struct wants *wants)
{
    struct display *display = rfb->display;
    LOCK_SCOPE(&display->mutex);
    wants->size = display->outbox_size;
    memcpy(wants->bytes, display->outbox, display->outbox_size);
    display->outbox_size = 0;
    wants->stopping = display->stopping;
    bool waited = display->frame_ms < display->want_ms;
    wants->frame = waited && !rfb->canvas.missing && rfb->fresh_ms >= display->want_ms;
    wants->fence = (waited && !wants->frame) || display->seen_ms < display->want_seen_ms;
    rfb->follow |= display->watchers > 0 || display->follow;
    display->follow = false;
}

/* Sends what callers have put into the outbox and looks after what they want to see. False: leave. */
static bool serve_callers(struct rfb *rfb)
{
    struct wants wants;
    take_wants(rfb, &wants);
    if (wants.size > 0 && !WriteToRFBServer(rfb->client, wants.bytes, (unsigned)wants.size))
        return false;
    if (wants.stopping || (wants.frame && !publish(rfb)))
        return false;
    if (wants.fence && !rfb->fence_on && !send_fence(rfb))
        return false;
    /* After a fence QEMU would take no notice of it: its answer comes first. */
    return !rfb->follow || rfb->asked || rfb->fence_on || ask_along(rfb);
}

/* Takes into account what a message held: which pixels, how fresh they are, what they changed. */
static bool note_pixels(struct rfb *rfb, bool echo)
{
    if (rfb->got_fence) {
        /* The tick that sent it came after the kick, and brought all that had changed by then. */
        rfb->fence_on = false;
        rfb->fresh_ms = rfb->fence_ms;
    }
    if (rfb->got_pixels || !(echo || rfb->resized))
        rfb->asked = false; /* an update, be it an empty one, answers the request */
    bool changed = rfb->canvas.box_count > 0 && !rfb->canvas.missing;
    if (changed) {
        rfb->sequence++;
        rfb->change_ms = clock_monotonic_ms();
    }
    return changed;
}

/* Reads one message. False: the session is over. */
static bool read_message(struct rfb *rfb)
{
    rfb->got_pixels = rfb->got_fence = rfb->resized = false;
    canvas_settle(&rfb->canvas);
    if (!HandleRFBServerMessage(rfb->client) || rfb->broken)
        return false;
    bool echo = take_echo(rfb->client);
    bool changed = note_pixels(rfb, echo);

    struct display *display = rfb->display;
    LOCK_SCOPE(&display->mutex);
    display->heard_ms = clock_monotonic_ms();
    display->width = rfb->canvas.width;
    display->height = rfb->canvas.height;
    display->sequence = rfb->sequence;
    display->echoes += echo;
    bool chasing = echo && display->chased == display->echoes;
    if (chasing)
        display->chaser = session_post(display, NULL, 0, &(struct error)ERROR_INIT);
    if (rfb->resized)
        display->frame_ms = INT64_MIN; /* however fresh, it is of a screen that is no more */
    for (size_t i = 0; changed && i < rfb->canvas.box_count; i++)
        changes_add(&display->changes, rfb->sequence, rfb->change_ms, rfb->canvas.boxes[i]);
    bool seen = !rfb->canvas.missing && rfb->fresh_ms > display->seen_ms;
    if (seen)
        display->seen_ms = rfb->fresh_ms;
    if (changed || (echo && !chasing) || seen)
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

/*
 * Keeps the library from asking for the next change after each message: a guest that plays a video would then
 * wake the node thirty times a second though nobody looks. It asks only servers that are said to understand.
 */
static void be_asked_only(rfbClient *client)
{
    client->supportedMessages.client2server[rfbFramebufferUpdateRequest / 8] &=
        (uint8_t) ~(1u << (rfbFramebufferUpdateRequest % 8));
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
    be_asked_only(rfb->client);
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
        display->width = rfb.canvas.width;
        display->height = rfb.canvas.height;
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
    canvas_clear(&rfb.canvas);
    return NULL;
}
