/*
 * drawn X Y RRGGBB: puts the pointer into the corner, and ends when the pixel X,Y of the screen has that
 * colour.
 *
 * The guest is usable when its start page can be seen, and only pixels prove that: the page's own animation
 * frames run, and its title stands in the window's frame, seconds before a busy guest has drawn anything.
 * Speaks the X protocol itself (a connection and GetImage on the root window, which includes the windows
 * above it), so that it is one static program that costs the boot nothing. Depth 24, 32 bits a pixel,
 * little-endian, no access control: what /etc/X11/xorg.conf makes; anything else ends it with a sentence.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define X_SOCKET      "/tmp/.X11-unix/X0"
#define LOOK_EVERY_MS 50
#define REPLY_BYTES   32
/* X11 protocol, "Connection Setup" and "Requests". */
#define X_WARP_POINTER 41
#define X_GET_IMAGE    73
#define X_Z_PIXMAP     2
#define X_REPLY        1

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "berthos: waiting for the start page: %s\n", what);
    exit(1);
}

static void read_all(int fd, void *buffer, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(fd, (char *)buffer + done, bytes - done);
        if (n == 0)
            give_up("the X server closed the connection");
        if (n < 0 && errno != EINTR)
            give_up(strerror(errno));
        if (n > 0)
            done += (size_t)n;
    }
}

static void skip(int fd, size_t bytes)
{
    char waste[256];
    for (size_t n; bytes > 0; bytes -= n) {
        n = bytes < sizeof waste ? bytes : sizeof waste;
        read_all(fd, waste, n);
    }
}

static uint16_t u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t u32(const uint8_t *at)
{
    return (uint32_t)u16(at) | (uint32_t)u16(at + 2) << 16;
}

static int connect_to_x(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = X_SOCKET};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        give_up("cannot connect to the X server");
    return fd;
}

/* Sets the connection up; returns the root window of the first screen. */
static uint32_t set_up(int fd)
{
    static const uint8_t hello[12] = {'l', 0, 11, 0};
    uint8_t head[8];
    if (write(fd, hello, sizeof hello) != sizeof hello)
        give_up(strerror(errno));
    read_all(fd, head, sizeof head);
    size_t bytes = (size_t)u16(head + 6) * 4;
    uint8_t *info = malloc(bytes);
    if (head[0] != 1 || bytes < 32 || info == NULL)
        give_up("the X server refused");
    read_all(fd, info, bytes);
    /* The screens follow the vendor's name (padded to 4) and the list of pixmap formats (8 bytes each). */
    size_t screen = 32 + ((size_t)u16(info + 16) + 3) / 4 * 4 + (size_t)info[21] * 8;
    if (screen + 40 > bytes || info[screen + 38] != 24)
        give_up("the screen does not have 24 bits");
    uint32_t root = u32(info + screen);
    free(info);
    return root;
}

/*
 * To the corner, where the tablet is that nobody has moved yet: Xorg starts with its pointer in the middle,
 * and a first move to the corner would be none for the kernel.
 */
static void move_to_corner(int fd, uint32_t root)
{
    uint8_t request[24] = {X_WARP_POINTER, 0, 6, 0};
    memcpy(request + 8, &root, 4);
    if (write(fd, request, sizeof request) != sizeof request)
        give_up(strerror(errno));
}

static uint32_t pixel_at(int fd, uint32_t root, uint16_t x, uint16_t y)
{
    uint8_t request[20] = {X_GET_IMAGE, X_Z_PIXMAP, 5, 0};
    uint8_t reply[REPLY_BYTES];
    memcpy(request + 4, &root, 4);
    memcpy(request + 8, &x, 2);
    memcpy(request + 10, &y, 2);
    request[12] = request[14] = 1;
    memset(request + 16, 0xff, 4);
    if (write(fd, request, sizeof request) != sizeof request)
        give_up(strerror(errno));
    do
        read_all(fd, reply, sizeof reply);
    while (reply[0] > X_REPLY); /* an event that everybody is sent */
    size_t bytes = (size_t)u32(reply + 4) * 4;
    uint8_t data[4];
    if (reply[0] != X_REPLY || bytes < sizeof data)
        give_up("the X server gave no picture");
    read_all(fd, data, sizeof data);
    skip(fd, bytes - sizeof data);
    return u32(data) & 0xffffff;
}

int main(int argc, char **argv)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
    if (argc != 4)
        give_up("usage: drawn X Y RRGGBB");
    uint16_t x = (uint16_t)strtoul(argv[1], NULL, 10);
    uint16_t y = (uint16_t)strtoul(argv[2], NULL, 10);
    uint32_t wanted = (uint32_t)strtoul(argv[3], NULL, 16);
    int fd = connect_to_x();
    uint32_t root = set_up(fd);
    move_to_corner(fd, root);
    while (pixel_at(fd, root, x, y) != wanted)
        nanosleep(&pause, NULL);
    return 0;
}
