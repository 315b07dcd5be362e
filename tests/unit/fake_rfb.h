/*
 * A VNC server for tests, on one end of a socket pair and a thread of its own. It behaves as QEMU's where the
 * node depends on it: an update request is answered at once without pixels, pixels leave at a tick, a tick
 * comes with a kick (ClientCutText), or in its own time while an incremental request waits for a change, the
 * unused byte of a pixel is garbage, a new size comes alone, SetEncodings with the extended key event is
 * acknowledged at once. A full request in the place of an incremental one answers both.
 */
#ifndef BERTHOS_TESTS_FAKE_RFB_H
#define BERTHOS_TESTS_FAKE_RFB_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sync.h"

#define FAKE_EVENTS 20000

/* A key (kind 'k', code, down) or pointer message (kind 'p', x, y, mask). */
struct fake_event {
    char kind;
    int code, down, x, y, mask;
    int64_t time_us;
};

#define FAKE_TICK_MS 30

/* A part of the screen that shows a picture of its own. */
struct fake_patch {
    int x, y, w, h;
    uint32_t seed;
};

enum fake_fault { FAKE_FINE, FAKE_GARBAGE, FAKE_SILENT, FAKE_HUGE, FAKE_NO_EXTENSION };

struct fake {
    pthread_t thread;
    int fd, wake;
    int client_fd; /* for display_open() */
    enum fake_fault fault;

    pthread_mutex_t mutex; /* guards what follows */
    int width, height;
    uint32_t seed; /* of the picture */
    struct fake_patch patch;
    bool mute;      /* reads nothing */
    bool resize;    /* tell the size now */
    bool cut_short; /* close in the middle of the next frame */
    bool stop;      /* leave */
    bool halves;    /* send pixels in two messages */
    struct fake_event events[FAKE_EVENTS];
    size_t event_count;
    size_t messages; /* of any kind that were read */
    size_t fences;   /* requests for pixels */

    /* the thread's own */
    uint32_t sent_seed;
    struct fake_patch sent_patch;
    bool asked;        /* an incremental request waits for a change */
    bool forced, full; /* somebody asked for pixels; of the whole screen */
    int force_x, force_y;
};

/* What the picture of a seed shows at a pixel. */
static inline uint32_t fake_pixel(uint32_t seed, int x, int y)
{
    uint32_t h = seed * 0x9e3779b1u + (uint32_t)x * 0x85ebca77u + (uint32_t)y * 0xc2b2ae3du;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    return (h ^ (h >> 12)) & 0xffffff;
}

static bool fake_read(struct fake *fake, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fake->fd, (char *)data + done, size - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool fake_write(struct fake *fake, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = send(fake->fd, (const char *)data + done, size - done, MSG_NOSIGNAL);
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

static void fake_put16(uint8_t *at, int value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static bool fake_header(struct fake *fake, int rectangles)
{
    uint8_t bytes[4] = {0};
    fake_put16(bytes + 2, rectangles);
    return fake_write(fake, bytes, sizeof bytes);
}

static bool fake_rectangle(struct fake *fake, int x, int y, int w, int h, int32_t encoding)
{
    uint8_t bytes[12];
    fake_put16(bytes, x);
    fake_put16(bytes + 2, y);
    fake_put16(bytes + 4, w);
    fake_put16(bytes + 6, h);
    fake_put16(bytes + 8, (int)((uint32_t)encoding >> 16));
    fake_put16(bytes + 10, encoding & 0xffff);
    return fake_write(fake, bytes, sizeof bytes);
}

static inline uint32_t fake_shown(uint32_t seed, struct fake_patch patch, int x, int y)
{
    bool inside = x >= patch.x && y >= patch.y && x < patch.x + patch.w && y < patch.y + patch.h;
    return fake_pixel(inside ? patch.seed : seed, x, y);
}

/* Raw pixels of a rectangle, the top byte garbage. */
static bool fake_pixels(struct fake *fake, uint32_t seed, int x, int y, int w, int h, bool cut)
{
    struct fake_patch patch = fake->sent_patch;
    size_t size = (size_t)w * (size_t)h * 4;
    uint32_t *pixels = malloc(size);
    for (int row = 0; row < h; row++)
        for (int column = 0; column < w; column++)
            pixels[row * w + column] = fake_shown(seed, patch, x + column, y + row) | 0xa5000000u;
    bool good = fake_rectangle(fake, x, y, w, h, 0) && fake_write(fake, pixels, cut ? size / 2 : size);
    free(pixels);
    return good && !cut;
}

/* The patch, widened to QEMU's cells. */
static bool fake_send_patch(struct fake *fake, uint32_t seed, int width)
{
    int x = fake->sent_patch.x / 16 * 16, end = (fake->sent_patch.x + fake->sent_patch.w + 15) / 16 * 16;
    return fake_pixels(fake, seed, x, fake->sent_patch.y, (end < width ? end : width) - x, fake->sent_patch.h,
                       false);
}

/* A tick: pixels of what has changed and what was asked for, if somebody asked. */
static bool fake_tick(struct fake *fake)
{
    pthread_mutex_lock(&fake->mutex);
    int width = fake->width, height = fake->height;
    uint32_t seed = fake->seed;
    struct fake_patch patch = fake->patch;
    bool cut = fake->cut_short, halves = fake->halves, resize = fake->resize;
    pthread_mutex_unlock(&fake->mutex);
    if (resize) /* the size is told before its pixels */
        return true;
    bool everything = (fake->forced && fake->full) || seed != fake->sent_seed;
    bool patched = memcmp(&patch, &fake->sent_patch, sizeof patch) != 0;
    if (!fake->forced && !(fake->asked && (everything || patched)))
        return true;
    /* a request that was made for a larger screen names a pixel that is no more */
    bool cell = fake->forced && fake->force_x < width && fake->force_y < height;
    int x = fake->force_x / 16 * 16, w = x + 16 > width ? width - x : 16;
    fake->forced = fake->full = fake->asked = false;
    fake->sent_seed = seed;
    fake->sent_patch = patch;
    if (!everything)
        return fake_header(fake, cell + patched) && (!patched || fake_send_patch(fake, seed, width)) &&
               (!cell || fake_pixels(fake, seed, x, fake->force_y, w, 1, cut));
    if (!halves)
        return fake_header(fake, 1) && fake_pixels(fake, seed, 0, 0, width, height, cut);
    int half = height / 2;
    if (!fake_header(fake, 1) || !fake_pixels(fake, seed, 0, 0, width, half, cut))
        return false;
    clock_sleep_ms(30);
    return fake_header(fake, 1) && fake_pixels(fake, seed, 0, half, width, height - half, cut);
}

static bool fake_encodings(struct fake *fake)
{
    uint8_t head[3], item[4];
    bool extended = false;
    if (!fake_read(fake, head, 3))
        return false;
    for (int i = 0; i < (head[1] << 8 | head[2]); i++) {
        if (!fake_read(fake, item, 4))
            return false;
        extended |= item[0] == 0xff && item[1] == 0xff && item[2] == 0xfe && item[3] == 0xfe;
    }
    if (!extended || fake->fault == FAKE_NO_EXTENSION)
        return true;
    /* As wide as QEMU's own buffer, which is rounded up. */
    return fake_header(fake, 1) &&
           fake_rectangle(fake, 0, 0, (fake->width + 15) / 16 * 16, fake->height, -258);
}

static void fake_note(struct fake *fake, struct fake_event event)
{
    event.time_us = clock_monotonic_us();
    pthread_mutex_lock(&fake->mutex);
    if (fake->event_count < FAKE_EVENTS)
        fake->events[fake->event_count++] = event;
    pthread_mutex_unlock(&fake->mutex);
}

static bool fake_message(struct fake *fake)
{
    uint8_t type, b[32];
    if (!fake_read(fake, &type, 1))
        return false;
    pthread_mutex_lock(&fake->mutex);
    fake->messages++;
    pthread_mutex_unlock(&fake->mutex);
    switch (type) {
    case 0:
        return fake_read(fake, b, 19) && b[3] == 32 && b[5] == 0 && b[13] == 16 && b[14] == 8 && b[15] == 0;
    case 2:
        return fake_encodings(fake);
    case 3:
        if (!fake_read(fake, b, 9))
            return false;
        if (b[0]) {
            fake->asked |= !fake->forced;
            return true;
        }
        pthread_mutex_lock(&fake->mutex);
        fake->fences++;
        pthread_mutex_unlock(&fake->mutex);
        fake->forced = true;
        fake->force_x = b[1] << 8 | b[2];
        fake->force_y = b[3] << 8 | b[4];
        fake->full |= (b[5] << 8 | b[6]) > 1; /* a fence asks for one pixel, on a screen of one cell too */
        return fake_header(fake, 0);          /* at once, and without a pixel */
    case 5:
        if (!fake_read(fake, b, 5))
            return false;
        fake_note(fake, (struct fake_event){'p', 0, 0, b[1] << 8 | b[2], b[3] << 8 | b[4], b[0], 0});
        return true;
    case 6:
        return fake_read(fake, b, 7) && b[3] == 0 && b[6] == 0;
    case 255:
        if (!fake_read(fake, b, 11) || b[0] != 0 || b[3] || b[4] || b[5] || b[6])
            return false;
        fake_note(fake, (struct fake_event){'k', b[10], b[2], 0, 0, 0, 0});
        return true;
    default:
        return false; /* nothing else may be sent */
    }
}

static bool fake_handshake(struct fake *fake)
{
    uint8_t b[32], init[24] = {0};
    if (fake->fault == FAKE_SILENT) {
        while (fake_read(fake, b, 1))
            ;
        return false;
    }
    if (fake->fault == FAKE_GARBAGE) {
        memset(b, '!', sizeof b);
        fake_write(fake, b, sizeof b);
        return false;
    }
    if (!fake_write(fake, "RFB 003.008\n", 12) || !fake_read(fake, b, 12) || !fake_write(fake, "\1\1", 2) ||
        !fake_read(fake, b, 1) || !fake_write(fake, "\0\0\0\0", 4) || !fake_read(fake, b, 1) || b[0] != 1)
        return false;
    fake_put16(init, fake->fault == FAKE_HUGE ? 65535 : fake->width);
    fake_put16(init + 2, fake->fault == FAKE_HUGE ? 65535 : fake->height);
    const uint8_t format[] = {32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0};
    memcpy(init + 4, format, sizeof format);
    init[23] = 4;
    return fake_write(fake, init, sizeof init) && fake_write(fake, "QEMU", 4);
}

static void *fake_run(void *argument)
{
    struct fake *fake = argument;
    bool good = fake_handshake(fake);
    while (good) {
        struct pollfd ready[2] = {{.fd = fake->fd, .events = POLLIN}, {.fd = fake->wake, .events = POLLIN}};
        pthread_mutex_lock(&fake->mutex);
        bool mute = fake->mute, resize = fake->resize, stop = fake->stop;
        fake->resize = false;
        pthread_mutex_unlock(&fake->mutex);
        if (stop)
            break;
        if (resize)
            fake->sent_seed = ~fake->seed; /* all of it is to be sent again */
        if (resize)
            good = fake_header(fake, 1) && fake_rectangle(fake, 0, 0, fake->width, fake->height, -223);
        if (mute)
            ready[0].fd = -1;
        /* Ticks come a moment after the messages, so that pixels are late as QEMU's are. */
        int count = poll(ready, 2, mute ? -1 : fake->forced ? 3 : fake->asked ? FAKE_TICK_MS : -1);
        eventfd_t ignored;
        if (ready[1].revents)
            eventfd_read(fake->wake, &ignored);
        if (count == 0)
            good = good && fake_tick(fake);
        if (ready[0].revents)
            good = good && fake_message(fake);
    }
    shutdown(fake->fd, SHUT_RDWR);
    return NULL;
}

static inline void fake_wake(struct fake *fake)
{
    eventfd_write(fake->wake, 1);
}

static inline struct fake *fake_start(int width, int height, enum fake_fault fault)
{
    struct fake *fake = calloc(1, sizeof *fake);
    int pair[2];
    if (!fake || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        abort();
    fake->fd = pair[0];
    fake->client_fd = pair[1];
    fake->wake = eventfd(0, EFD_CLOEXEC);
    fake->width = width;
    fake->height = height;
    fake->fault = fault;
    fake->seed = 1;
    pthread_mutex_init(&fake->mutex, NULL);
    struct error err = ERROR_INIT;
    if (sync_thread_start(&fake->thread, "fake", fake_run, fake, &err) < 0)
        abort();
    return fake;
}

/* Ends the server, where the client has not ended it already. */
static inline void fake_stop(struct fake *fake)
{
    pthread_mutex_lock(&fake->mutex);
    fake->stop = true;
    pthread_mutex_unlock(&fake->mutex);
    shutdown(fake->fd, SHUT_RDWR);
    fake_wake(fake);
    pthread_join(fake->thread, NULL);
    close(fake->fd);
    close(fake->wake);
    pthread_mutex_destroy(&fake->mutex);
    free(fake);
}

#define FAKE_SET(fake, member, value)                                                                        \
    do {                                                                                                     \
        pthread_mutex_lock(&(fake)->mutex);                                                                  \
        (fake)->member = (value);                                                                            \
        pthread_mutex_unlock(&(fake)->mutex);                                                                \
        fake_wake(fake);                                                                                     \
    } while (0)

#endif
