/*
 * The helper as the desktop image has it (docs/IMAGE.md), for the test guest: the same words,
 * run by the node through the agent. Text goes into the text field some characters at a time, so that it can
 * be given up half way, and can be made to take long or to fail (`ctl helper`).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/input-event-codes.h>

#include "guest.h"

enum { TEXT_BYTES_MAX = 65536, PIECE_BYTES = 64 };

static volatile sig_atomic_t released;

static void on_release(int number)
{
    (void)number;
    released = 1;
}

static int answer(bool ok, size_t typed, const char *error)
{
    if (ok)
        printf("{\"ok\":true}\n");
    else
        printf("{\"ok\":false,\"typed\":%zu,\"error\":\"%s\"}\n", typed, error);
    return ok ? 0 : 1;
}

/* One line to init; whether it was obeyed. */
static bool tell_init(const char *line)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GUEST_CONTROL};
    char reply[GUEST_LINE_MAX] = "";
    size_t length = strlen(line), got = 0;
    ssize_t part;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool sent = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                write(fd, line, length) == (ssize_t)length;

    while (sent && got < sizeof(reply) - 1 &&
           ((part = read(fd, reply + got, sizeof(reply) - 1 - got)) > 0 || (part < 0 && errno == EINTR)))
        got += part > 0 ? (size_t)part : 0;
    if (fd >= 0)
        close(fd);
    return strncmp(reply, "{\"ok\":true", 10) == 0;
}

/* The bytes of the next piece: whole characters, at most PIECE_BYTES. */
static size_t piece(const char *text, size_t size)
{
    size_t length = size < PIECE_BYTES ? size : PIECE_BYTES;

    while (length < size && length > 1 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static bool enter(const char *bytes, size_t size)
{
    char line[2 * PIECE_BYTES + 16] = "enter ";
    size_t length = strlen(line);

    for (size_t i = 0; i < size; i++)
        length += (size_t)snprintf(line + length, sizeof(line) - length, "%02x", (unsigned char)bytes[i]);
    snprintf(line + length, sizeof(line) - length, "\n");
    return tell_init(line);
}

/* What `ctl helper` asked for: milliseconds that each piece takes, or -1 for "deaf". */
static int behaviour(void)
{
    char word[16] = "";
    int ms = 0;
    FILE *file = fopen(GUEST_HELPER, "re");

    if (!file)
        return 0;
    if (fscanf(file, "%15s %d", word, &ms) < 1)
        ms = 0;
    fclose(file);
    return strcmp(word, "deaf") == 0 ? -1 : ms;
}

static void note_process(void)
{
    FILE *file = fopen(GUEST_TYPING, "we");

    if (!file)
        return;
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
}

static int type_text(void)
{
    struct sigaction action = {.sa_handler = on_release};
    static char text[TEXT_BYTES_MAX + 1];
    size_t size = fread(text, 1, sizeof(text), stdin), typed = 0;
    int piece_ms = behaviour();
    bool good = true;

    if (size == 0 || size > TEXT_BYTES_MAX)
        return answer(false, 0, "a text has 1 to 65536 bytes");
    if (piece_ms < 0)
        return answer(false, 0, "no text field has the focus");
    sigaction(SIGTERM, &action, NULL);
    note_process();
    for (size_t at = 0, length; at < size && good && !released; at += length) {
        length = piece(text + at, size - at);
        usleep((useconds_t)piece_ms * 1000);
        good = !released && enter(text + at, length);
        for (size_t i = 0; good && i < length; i++)
            typed += ((unsigned char)text[at + i] & 0xc0) != 0x80;
    }
    unlink(GUEST_TYPING);
    if (released)
        return answer(false, typed, "released");
    return answer(good, typed, "the text field is gone");
}

static int release(void)
{
    FILE *file = fopen(GUEST_TYPING, "re");
    int pid = 0;

    if (file) {
        if (fscanf(file, "%d", &pid) == 1 && pid > 1)
            kill(pid, SIGTERM);
        fclose(file);
    }
    return answer(true, 0, "");
}

static int point(const char *x, const char *y, int type, int code, int value, int times)
{
    char line[GUEST_LINE_MAX];

    snprintf(line, sizeof(line), "point %.12s %.12s %d %d %d %d\n", x, y, type, code, value, times);
    return answer(tell_init(line), 0, "the place or the count is out of bounds");
}

int helper_main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (strcmp(verb, "type") == 0 && argc == 2)
        return type_text();
    if (strcmp(verb, "renew") == 0 && argc == 2)
        return answer(true, 0, ""); /* no program here has a generator of its own */
    if (strcmp(verb, "release") == 0 && argc == 2)
        return release();
    if (strcmp(verb, "click") == 0 && argc == 6)
        return point(argv[2], argv[3], EV_KEY, strcmp(argv[4], "back") == 0 ? BTN_SIDE : BTN_EXTRA, 1,
                     atoi(argv[5]));
    if (strcmp(verb, "scroll") == 0 && argc == 5)
        return point(argv[2], argv[3], EV_REL, REL_HWHEEL, atoi(argv[4]) < 0 ? -1 : 1, abs(atoi(argv[4])));
    fprintf(stderr, "usage: hands type | click X Y back|forward COUNT | scroll X Y DX | release | renew\n");
    return 2;
}
