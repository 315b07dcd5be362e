/*
 * Input: every event of every evdev device goes to GUEST_EVENTS, keys go through the text field into
 * GUEST_TEXT, and the tablet's position is kept. One thread of real-time priority reads, so that neither
 * painting nor `busy` makes the kernel's queue overflow; what is lost, was lost before the guest.
 */
#ifndef TEST_GUEST_INPUT_H
#define TEST_GUEST_INPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "text.h"

enum input_device_kind { INPUT_KEYBOARD, INPUT_TABLET, INPUT_MOUSE, INPUT_OTHER };

enum { INPUT_DEVICES_MAX = 16, INPUT_BUTTONS_MAX = 8 };

struct input_device {
    int fd;
    enum input_device_kind kind;
    uint32_t unreported; /* events recorded since its last SYN_REPORT */
};

/* Where the pointer is, as the tablet's own numbers. */
struct input_pointer {
    int32_t x, y;         /* raw: 0..max */
    int32_t max_x, max_y; /* 0: there is no tablet */
    uint32_t buttons;     /* bit n: BTN_LEFT + n is down */
};

struct input_state {
    struct input_pointer pointer;
    uint64_t events, events_lost; /* lines written since the last reset; lines that found no room */
    uint64_t text_bytes;
    bool caps_lock;
};

struct input {
    struct input_device devices[INPUT_DEVICES_MAX];
    int device_count;
    int epoll_fd, events_fd, text_fd;
    int moved_fd;         /* an eventfd: readable when the pointer has moved */
    pthread_mutex_t lock; /* over what follows */
    struct input_state state;
    struct text text;
};

/* Opens the devices and the files and starts the thread. 0, or -1 with errno. */
int input_start(struct input *input);

/* The input helper has entered `size` bytes of text: into the text field, with one event (EV_MSC, code 0, the
 * size) of the device "helper". */
void input_enter(struct input *input, const char *bytes, size_t size);

/* An event of the input helper: written down as of the device "helper"; absolute ones move the pointer. */
void input_helper(struct input *input, uint16_t type, uint16_t code, int32_t value);

/* Empties events and text and releases CapsLock, its light too. */
void input_reset(struct input *input);

/* A copy of the state as it is now. */
struct input_state input_state(struct input *input);

#endif
