/*
 * What the code relies on in libvncclient, against a server of a few lines on a socket pair. The server's
 * side is the test's own; each step is written before the client reads it, so no thread is needed.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <rfb/rfbclient.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WIDTH = 64, HEIGHT = 32, LARGER = 96 };

struct session {
    rfbClient *client;
    int server;
    int resizes;
};

static struct session session;

static void silent(const char *format, ...)
{
    (void)format;
}

static rfbBool allocate(rfbClient *client)
{
    session.resizes++;
    free(client->frameBuffer);
    client->frameBuffer = calloc((size_t)client->width * (size_t)client->height, 4);
    return client->frameBuffer != NULL;
}

static void put(const void *data, size_t size)
{
    assert_int_equal(write(session.server, data, size), size);
}

static void put16(uint16_t value)
{
    value = htons(value);
    put(&value, sizeof value);
}

static void put32(uint32_t value)
{
    value = htonl(value);
    put(&value, sizeof value);
}

/* Takes what the client has written so far. */
static size_t take(unsigned char *buffer, size_t size)
{
    ssize_t got = recv(session.server, buffer, size, MSG_DONTWAIT);
    return got < 0 ? 0 : (size_t)got;
}

/* RFB 3.8 (RFC 6143): version, security None, ServerInit with 32-bit pixels. */
static void write_handshake(void)
{
    static const unsigned char format[16] = {32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0};
    put("RFB 003.008\n", 12);
    put("\1\1", 2);
    put32(0);
    put16(WIDTH);
    put16(HEIGHT);
    put(format, sizeof format);
    put32(4);
    put("test", 4);
}

static int open_session(void **state)
{
    (void)state;
    int pair[2];
    session = (struct session){0};
    rfbClientLog = rfbClientErr = silent;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return -1;
    session.server = pair[1];
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    write_handshake();
    session.client = rfbGetClient(8, 3, 4);
    session.client->sock = pair[0];
    session.client->listenSpecified = TRUE; /* the descriptor is connected: do not connect anywhere */
    session.client->readTimeout = 2;
    session.client->canHandleNewFBSize = TRUE;
    session.client->MallocFrameBuffer = allocate;
    session.client->format.bigEndian = FALSE;
    return rfbInitClient(session.client, NULL, NULL) ? 0 : -1;
}

static int close_session(void **state)
{
    (void)state;
    uint8_t *pixels = session.client->frameBuffer;
    rfbClientCleanup(session.client);
    free(pixels); /* the library leaves the frame to its owner */
    close(session.server);
    return 0;
}

static void a_given_descriptor_is_used(void **state)
{
    (void)state;
    assert_int_equal(session.client->width, WIDTH);
    assert_int_equal(session.client->height, HEIGHT);
    assert_int_equal(session.resizes, 1);
    assert_string_equal(session.client->desktopName, "test");
}

/* What is written through WriteToRFBServer arrives as it is: our own list of encodings replaces the
 * library's. */
static void raw_writes_pass_through(void **state)
{
    (void)state;
    unsigned char buffer[4096];
    take(buffer, sizeof buffer);
    char encodings[] = {2,      0,      0,      3,      0,      0,      0,      0,
                        '\xff', '\xff', '\xff', '\x21', '\xff', '\xff', '\xfe', '\xfe'};
    assert_true(WriteToRFBServer(session.client, encodings, sizeof encodings));
    assert_int_equal(take(buffer, sizeof buffer), sizeof encodings);
    assert_memory_equal(buffer, encodings, sizeof encodings);
}

/* Message 0 with one rectangle of an encoding without data. */
static void put_pseudo_rectangle(uint16_t width, uint16_t height, int32_t encoding)
{
    put("\0\0", 2);
    put16(1);
    put32(0);
    put16(width);
    put16(height);
    put32((uint32_t)encoding);
}

static void a_resize_alone_gives_a_new_frame(void **state)
{
    (void)state;
    put_pseudo_rectangle(LARGER, HEIGHT, -223);
    assert_true(HandleRFBServerMessage(session.client));
    assert_int_equal(session.client->width, LARGER);
    assert_int_equal(session.resizes, 2);
}

/* QEMU's extended key event may be sent only once the server has shown that it knows it. */
static void extended_keys_wait_for_the_server(void **state)
{
    (void)state;
    unsigned char buffer[4096];
    take(buffer, sizeof buffer);
    assert_false(SendExtendedKeyEvent(session.client, 0, 30, TRUE));
    assert_int_equal(take(buffer, sizeof buffer), 0);
    put_pseudo_rectangle(WIDTH, HEIGHT, -258);
    assert_true(HandleRFBServerMessage(session.client));
    take(buffer, sizeof buffer);
    assert_true(SendExtendedKeyEvent(session.client, 0, 30, TRUE));
    static const unsigned char event[12] = {255, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 30};
    assert_int_equal(take(buffer, sizeof buffer), sizeof event);
    assert_memory_equal(buffer, event, sizeof event);
}

/* A server that stops half way costs readTimeout seconds, not for ever. */
static void a_silent_server_is_bounded(void **state)
{
    (void)state;
    put("\0", 1);
    assert_false(HandleRFBServerMessage(session.client));
}

/* Bytes can wait in the library's own buffer, where poll() does not see them: `buffered` says how many. */
static void buffered_bytes_are_counted(void **state)
{
    (void)state;
    put_pseudo_rectangle(LARGER, HEIGHT, -223);
    put_pseudo_rectangle(WIDTH, HEIGHT, -223);
    assert_true(HandleRFBServerMessage(session.client));
    assert_int_equal(session.client->buffered, 16);
    assert_true(HandleRFBServerMessage(session.client));
    assert_int_equal(session.client->buffered, 0);
    assert_int_equal(session.client->width, WIDTH);
}

#define IN_SESSION(test) cmocka_unit_test_setup_teardown(test, open_session, close_session)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SESSION(a_given_descriptor_is_used),       IN_SESSION(raw_writes_pass_through),
        IN_SESSION(a_resize_alone_gives_a_new_frame), IN_SESSION(extended_keys_wait_for_the_server),
        IN_SESSION(a_silent_server_is_bounded),       IN_SESSION(buffered_bytes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
