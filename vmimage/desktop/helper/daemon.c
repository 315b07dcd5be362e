/*
 * helperd: the helper in the desktop's session, as `agent`. entry.h says how text is entered; wire.h
 * what is said to it over its socket, which systemd opens and passes on (descriptor 3).
 *
 * One thing is done at a time. While a text waits to be taken, the same loop serves those who come to take
 * it, a `release`, and a client that went away.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "entry.h"
#include "method.h"
#include "wire.h"

enum { LISTEN_FD = 3, REQUEST_SECONDS = 2, POINTER_MAX = 32767, CLICKS_MAX = 3, NOTCHES_MAX = 100 };

/* X's numbers of the buttons that are a wheel's or a side's. */
enum { BUTTON_WHEEL_LEFT = 6, BUTTON_WHEEL_RIGHT = 7, BUTTON_BACK = 8, BUTTON_FORWARD = 9 };

struct daemon {
    xcb_connection_t *x;
    struct method *method;
    struct entry entry;
    int client_fd; /* whose input is under way; -1: nobody's */
};

struct request {
    int fd;
    char line[HELPER_LINE_MAX]; /* without its newline */
};

static void answer(int fd, const char *error, size_t typed)
{
    char text[HELPER_ANSWER_MAX];
    int length =
        error ? snprintf(text, sizeof text, "{\"ok\":false,\"typed\":%zu,\"error\":\"%s\"}\n", typed, error)
              : snprintf(text, sizeof text, "{\"ok\":true}\n");
    send(fd, text, (size_t)length, MSG_NOSIGNAL);
}

/* Reads up to the newline, a byte at a time: what follows it is not the line's. */
static bool read_line(struct request *request)
{
    for (size_t length = 0; length < sizeof request->line; length++) {
        ssize_t n = read(request->fd, request->line + length, 1);
        if (n != 1)
            return false;
        if (request->line[length] == '\n') {
            request->line[length] = '\0';
            return true;
        }
    }
    return false;
}

static bool read_all(int fd, char *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* Bytes of the character at `text` (RFC 3629); 0 when there is none, or it is a control character but newline
 * or tab. */
static size_t character(const unsigned char *text, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = text[0] < 0x80       ? 1
                    : text[0] >> 5 == 6  ? 2
                    : text[0] >> 4 == 14 ? 3
                    : text[0] >> 3 == 30 ? 4
                                         : 0;
    if (length == 0 || length > size)
        return 0;
    uint32_t point = length == 1 ? text[0] : text[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        point = point << 6 | (text[i] & 0x3f);
    }
    if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return 0;
    return (point < 0x20 && point != '\n' && point != '\t') || (point >= 0x7f && point < 0xa0) ? 0 : length;
}

static bool can_be_typed(const char *text, size_t size)
{
    size_t length = 1;
    for (size_t at = 0; at < size && length > 0; at += length)
        length = character((const unsigned char *)text + at, size - at);
    return length > 0;
}

static void run_type(struct daemon *daemon, const struct request *request)
{
    size_t size = 0, typed = 0;
    if (sscanf(request->line, "type %zu", &size) != 1 || size == 0 || size > HELPER_TEXT_MAX_BYTES) {
        answer(request->fd, "a text has 1 to 65536 bytes", 0);
        return;
    }
    char *text = malloc(size);
    if (!text || !read_all(request->fd, text, size))
        answer(request->fd, "the text did not come", 0);
    else if (!can_be_typed(text, size))
        answer(request->fd, "the text is not UTF-8, or has control characters", 0);
    else {
        const char *error = entry_type(&daemon->entry, text, size, &typed);
        answer(request->fd, error, typed);
    }
    free(text);
}

static void run_pointer(struct daemon *daemon, const struct request *request)
{
    struct keyboard *keyboard = &daemon->entry.keyboard;
    char name[16] = "";
    int x = -1, y = -1, times = 0;
    uint8_t button = 0;
    if (sscanf(request->line, "click %d %d %15s %d", &x, &y, name, &times) == 4) {
        button = strcmp(name, "back") == 0 ? BUTTON_BACK : strcmp(name, "forward") == 0 ? BUTTON_FORWARD : 0;
        times = times <= CLICKS_MAX ? times : 0;
    } else if (sscanf(request->line, "scroll %d %d %d", &x, &y, &times) == 3) {
        button = times < 0 ? BUTTON_WHEEL_LEFT : BUTTON_WHEEL_RIGHT;
        times = times >= -NOTCHES_MAX && times <= NOTCHES_MAX ? abs(times) : 0;
    }
    if (button == 0 || times < 1 || x < 0 || x > POINTER_MAX || y < 0 || y > POINTER_MAX) {
        answer(request->fd, "usage: click X Y back|forward COUNT, or scroll X Y DX", 0);
        return;
    }
    keyboard_click(keyboard, (int16_t)x, (int16_t)y, button, times);
    answer(request->fd, keyboard_sync(keyboard) ? NULL : "the X server does not answer", 0);
}

static void take(struct daemon *daemon, int fd)
{
    size_t size;
    const char *text = entry_take(&daemon->entry, &size);
    daemon->entry.by_method &= !text;
    if (text && send(fd, text, size, MSG_NOSIGNAL) != (ssize_t)size)
        daemon->entry.taken = false; /* half a text is none: its reader waits a second for the rest */
}

static void accept_one(struct daemon *daemon)
{
    struct timeval patience = {.tv_sec = REQUEST_SECONDS};
    int buffer = HELPER_TEXT_MAX_BYTES;
    struct request request = {.fd = accept4(LISTEN_FD, NULL, NULL, SOCK_CLOEXEC)};
    if (request.fd < 0)
        return;
    setsockopt(request.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(request.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(request.fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    bool idle = daemon->client_fd < 0;
    if (!read_line(&request)) {
        answer(request.fd, "the request is no line", 0);
    } else if (strcmp(request.line, "take") == 0) {
        take(daemon, request.fd);
    } else if (strcmp(request.line, "focus") == 0) {
        entry_focus_moved(&daemon->entry);
    } else if (strcmp(request.line, "release") == 0) {
        daemon->entry.stopped = true;
        answer(request.fd, NULL, 0);
    } else if (!idle) {
        answer(request.fd, "other input is under way", 0);
    } else {
        daemon->client_fd = request.fd;
        if (strncmp(request.line, "type ", 5) == 0)
            run_type(daemon, &request);
        else
            run_pointer(daemon, &request);
        daemon->client_fd = -1;
    }
    close(request.fd);
}

/* Whether there was anything. */
static bool serve_x(struct daemon *daemon)
{
    xcb_generic_event_t *event;
    bool any = false;
    for (; (event = xcb_poll_for_event(daemon->x)) != NULL; any = true) {
        if (!method_event(daemon->method, event))
            entry_event(&daemon->entry, event);
        free(event);
    }
    if (xcb_connection_has_error(daemon->x)) {
        fprintf(stderr, "the X server is gone\n");
        exit(1); /* systemd starts both anew */
    }
    xcb_flush(daemon->x);
    return any;
}

/* Serves what comes until the time, or the first of it. Events may wait unseen behind a reply: they go first.
 */
static void serve(void *context, int64_t until_ms)
{
    struct daemon *daemon = context;
    if (serve_x(daemon))
        return;
    int64_t left_ms = until_ms - entry_now_ms();
    struct pollfd sources[] = {
        {.fd = xcb_get_file_descriptor(daemon->x), .events = POLLIN},
        {.fd = LISTEN_FD, .events = POLLIN},
        {.fd = daemon->client_fd, .events = POLLRDHUP},
    };
    if (poll(sources, 3, left_ms < 0 ? 0 : left_ms > 60000 ? -1 : (int)left_ms) <= 0)
        return;
    if (sources[2].revents)
        daemon->entry.stopped = true;
    if (sources[1].revents)
        accept_one(daemon);
    serve_x(daemon);
}

static const char *take_for_method(void *context, size_t *size)
{
    struct daemon *daemon = context;
    const char *text = entry_take(&daemon->entry, size);
    daemon->entry.by_method |= text != NULL;
    return text;
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

int main(void)
{
    static struct daemon daemon = {.client_fd = -1};
    int screen;
    daemon.x = xcb_connect(NULL, &screen);
    if (xcb_connection_has_error(daemon.x))
        give_up("no X server");
    xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(daemon.x)).data->root;
    daemon.entry = (struct entry){
        .keyboard = {.x = daemon.x, .root = root},
        .focus = {.x = daemon.x, .root = root},
        .serve = serve,
        .context = &daemon,
    };
    daemon.method = method_open(daemon.x, screen, take_for_method, &daemon);
    if (!daemon.method)
        give_up("another input method has the name");
    if (!focus_open(&daemon.entry.focus))
        give_up("the X server gives no atoms");
    for (;;)
        serve(&daemon, INT64_MAX);
}
