#include "display/rfb_client.h"

#include <rfb/rfbclient.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "display/region.h"

#define KICK_SIZE    8 /* ClientCutText without text, RFC 6143 section 7.5.6 */
#define REQUEST_SIZE 10

/* Bounds of what QEMU may send: its own VNC server stops at 5120 x 2160. */
#define EDGE_MAX   8192
#define PIXELS_MAX (16u << 20)

static int client_tag; /* its address names our data at the library's client */

static struct rfb_client *client_of(rfbClient *library)
{
    return rfbClientGetClientData(library, &client_tag);
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
static rfbBool make_pixels(rfbClient *library)
{
    struct rfb_client *client = client_of(library);
    library->frameBuffer = NULL; /* the canvas's own, and about to go */
    if (library->width <= 0 || library->height <= 0 || library->width > EDGE_MAX ||
        library->height > EDGE_MAX || (uint32_t)library->width * (uint32_t)library->height > PIXELS_MAX) {
        client->broken = "the guest's display has a size that no screen has";
        return FALSE;
    }
    if (!canvas_resize(&client->canvas, (uint32_t)library->width, (uint32_t)library->height)) {
        client->broken = "there is no memory left for the picture";
        return FALSE;
    }
    library->width = (int)canvas_cells_across(client->canvas.width) * CELL_WIDTH;
    library->frameBuffer = (uint8_t *)client->canvas.pixels;
    client->resized = true;
    client->fence_on = false; /* its pixel may not exist any more, and all others are under way */
    return TRUE;
}

/* Raw pixels. */
static void got_bitmap(rfbClient *library, const uint8_t *buffer, int left, int top, int columns, int rows)
{
    struct rfb_client *client = client_of(library);
    struct action_region region = {left, top, columns, rows};
    if (!region_fits(region, client->canvas.width, client->canvas.height))
        return;
    uint32_t x = (uint32_t)left, y = (uint32_t)top, w = (uint32_t)columns, h = (uint32_t)rows;
    canvas_put(&client->canvas, buffer, x, y, w, h);
    client->got_pixels = true;
    if (client->fence_on && client->fence_x >= x && client->fence_x < x + w && client->fence_y >= y &&
        client->fence_y < y + h)
        client->got_fence = true;
}

static void got_fill(rfbClient *library, int x, int y, int w, int h, uint32_t colour)
{
    (void)x, (void)y, (void)w, (void)h, (void)colour;
    client_of(library)->broken = "the display sends pixels in an encoding that was not asked for";
}

static void got_copy(rfbClient *library, int from_x, int from_y, int w, int h, int x, int y)
{
    (void)from_x, (void)from_y, (void)w, (void)h, (void)x, (void)y;
    client_of(library)->broken = "the display sends pixels in an encoding that was not asked for";
}

/* The display of a guest is reached through libvirt without a password; the default would ask on stdin. */
static char *no_password(rfbClient *library)
{
    (void)library;
    return NULL;
}

/* The library's client on a socket, set up but not connected. NULL without memory. */
static rfbClient *make_library(struct rfb_client *client, int fd, unsigned handshake_s)
{
    static pthread_once_t loggers = PTHREAD_ONCE_INIT;
    pthread_once(&loggers, set_loggers);
    rfbClient *library = rfbGetClient(8, 3, 4);
    if (!library) {
        close(fd);
        return NULL;
    }
    library->sock = fd;
    library->listenSpecified = TRUE; /* the descriptor is connected already */
    library->readTimeout = handshake_s;
    library->canHandleNewFBSize = TRUE;
    library->appData.shareDesktop = TRUE;
    library->appData.encodingsString = "raw";
    library->appData.useRemoteCursor = FALSE;
    library->format.bigEndian = FALSE;
    library->format.redShift = 16;
    library->format.greenShift = 8;
    library->format.blueShift = 0;
    library->GetPassword = no_password;
    library->MallocFrameBuffer = make_pixels;
    library->GotBitmap = got_bitmap;
    library->GotFillRect = got_fill;
    library->GotCopyRect = got_copy;
    rfbClientSetClientData(library, &client_tag, client);
    uint32_t schemes[] = {rfbNoAuth, 0};
    SetClientAuthSchemes(library, schemes, -1);
    return library;
}

/* Clears the mark that an echo sets, and says whether it was set. */
static bool take_echo(rfbClient *library)
{
    uint8_t *byte = &library->supportedMessages.client2server[rfbQemuEvent / 8];
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

bool rfb_client_send(struct rfb_client *client, const unsigned char *bytes, size_t size)
{
    return WriteToRFBServer(client->library, (const char *)bytes, (unsigned)size);
}

bool rfb_client_fence(struct rfb_client *client)
{
    unsigned char bytes[KICK_SIZE + REQUEST_SIZE] = {rfbClientCutText};
    const struct canvas *canvas = &client->canvas;
    uint32_t across = canvas_cells_across(canvas->width);
    client->fence_turn = (client->fence_turn + 1) % (across * canvas->height);
    client->fence_x = client->fence_turn % across * CELL_WIDTH;
    client->fence_y = client->fence_turn / across;
    if (canvas->missing)
        request_bytes(bytes + KICK_SIZE, false, 0, 0, canvas->width, canvas->height);
    else
        request_bytes(bytes + KICK_SIZE, false, client->fence_x, client->fence_y, 1, 1);
    client->fence_ms = clock_monotonic_ms();
    client->fence_on = true;
    return rfb_client_send(client, bytes, sizeof bytes);
}

bool rfb_client_follow(struct rfb_client *client)
{
    unsigned char bytes[REQUEST_SIZE];
    request_bytes(bytes, true, 0, 0, client->canvas.width, client->canvas.height);
    return rfb_client_send(client, bytes, sizeof bytes);
}

bool rfb_client_read(struct rfb_client *client)
{
    client->got_pixels = client->got_fence = client->resized = false;
    canvas_settle(&client->canvas);
    if (!HandleRFBServerMessage(client->library) || client->broken)
        return false;
    client->echo = take_echo(client->library);
    if (client->got_fence)
        client->fence_on = false;
    return true;
}

int rfb_client_fd(const struct rfb_client *client)
{
    return client->library->sock;
}

bool rfb_client_is_ahead(const struct rfb_client *client)
{
    return client->library->buffered > 0;
}

/*
 * Keeps the library from asking for the next change after each message: a guest that plays a video would then
 * wake the node thirty times a second though nobody looks. It asks only servers that are said to understand.
 */
static void be_asked_only(rfbClient *library)
{
    library->supportedMessages.client2server[rfbFramebufferUpdateRequest / 8] &=
        (uint8_t) ~(1u << (rfbFramebufferUpdateRequest % 8));
}

bool rfb_client_connect(struct rfb_client *client, int fd, unsigned handshake_s, unsigned mute_s)
{
    client->library = make_library(client, fd, handshake_s);
    if (!client->library)
        return false;
    /* The pixels outlive the library's client, which rfbInitClient() frees when it fails. */
    if (!rfbInitClient(client->library, NULL, NULL)) {
        client->library = NULL;
        return false;
    }
    client->library->readTimeout = mute_s;
    be_asked_only(client->library);
    return true;
}

void rfb_client_clear(struct rfb_client *client)
{
    if (client->library)
        rfbClientCleanup(client->library);
    client->library = NULL;
    canvas_clear(&client->canvas);
}
