#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/input.h>

#include "guest.h"

enum { EVENTS_AT_ONCE = 64, LINE_BYTES_MAX = 128, LONG_BITS = 8 * sizeof(long) };

/* X's repeat: 660 ms, then 25 a second. The kernel's own 250 ms makes repeats of a slow guest's held keys. */
enum { REPEAT_DELAY_MS = 660, REPEAT_PERIOD_MS = 40 };

static bool has_bit(const unsigned long *bits, unsigned bit)
{
    return bits[bit / LONG_BITS] >> bit % LONG_BITS & 1;
}

static enum input_device_kind kind_of(int fd)
{
    unsigned long types[EV_CNT / LONG_BITS + 1] = {0}, keys[KEY_CNT / LONG_BITS + 1] = {0};

    ioctl(fd, EVIOCGBIT(0, sizeof(types)), types);
    ioctl(fd, EVIOCGBIT(EV_KEY, sizeof(keys)), keys);
    if (has_bit(types, EV_ABS) && has_bit(keys, BTN_LEFT))
        return INPUT_TABLET;
    if (has_bit(types, EV_REL))
        return INPUT_MOUSE;
    return has_bit(keys, KEY_A) && has_bit(keys, KEY_SPACE) ? INPUT_KEYBOARD : INPUT_OTHER;
}

static void open_device(struct input *input, int number)
{
    struct input_device *device = &input->devices[input->device_count];
    unsigned repeat[2] = {REPEAT_DELAY_MS, REPEAT_PERIOD_MS};
    int monotonic = CLOCK_MONOTONIC;
    struct input_absinfo x, y;
    struct epoll_event interest;
    char path[64];

    snprintf(path, sizeof(path), "/dev/input/event%d", number);
    device->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device->fd < 0)
        return;
    device->kind = kind_of(device->fd);
    ioctl(device->fd, EVIOCSCLOCKID, &monotonic);
    ioctl(device->fd, EVIOCSREP, repeat);
    if (device->kind == INPUT_TABLET && ioctl(device->fd, EVIOCGABS(ABS_X), &x) == 0 &&
        ioctl(device->fd, EVIOCGABS(ABS_Y), &y) == 0)
        input->state.pointer =
            (struct input_pointer){.x = x.value, .y = y.value, .max_x = x.maximum, .max_y = y.maximum};
    interest = (struct epoll_event){.events = EPOLLIN, .data.ptr = device};
    if (epoll_ctl(input->epoll_fd, EPOLL_CTL_ADD, device->fd, &interest) == 0)
        input->device_count++;
    else
        close(device->fd);
}

/* CapsLock's light. No console does it (it is switched off), and the host's view of CapsLock is this light.
 */
static void show_caps_lock(const struct input *input)
{
    struct input_event light[2] = {
        {.type = EV_LED, .code = LED_CAPSL, .value = input->text.caps_lock},
        {.type = EV_SYN, .code = SYN_REPORT},
    };

    for (int i = 0; i < input->device_count; i++)
        if (input->devices[i].kind == INPUT_KEYBOARD && write(input->devices[i].fd, light, sizeof(light)) < 0)
            guest_say("CapsLock's light cannot be set: %s", strerror(errno));
}

/* Brings the text file up to date with the field, which held `length` bytes before. */
static void write_text(const struct input *input, size_t length)
{
    const struct text *text = &input->text;

    if (text->length < length) {
        if (ftruncate(input->text_fd, (off_t)text->length) < 0)
            guest_say("the text file cannot be cut: %s", strerror(errno));
    } else if (pwrite(input->text_fd, text->bytes + length, text->length - length, (off_t)length) < 0) {
        guest_say("the text file cannot be written: %s", strerror(errno));
    }
}

static void take_key(struct input *input, uint16_t code, int32_t value)
{
    struct text *text = &input->text;
    size_t length = text->length;
    bool caps_lock = text->caps_lock;

    if (text_key(text, code, value))
        write_text(input, length);
    if (text->caps_lock != caps_lock)
        show_caps_lock(input);
}

static void take_event(struct input *input, const struct input_device *device,
                       const struct input_event *event)
{
    struct input_pointer *pointer = &input->state.pointer;
    uint32_t button = (uint32_t)event->code - BTN_LEFT;

    if (event->type == EV_KEY && device->kind == INPUT_KEYBOARD)
        take_key(input, event->code, event->value);
    if (event->type == EV_KEY && button < INPUT_BUTTONS_MAX)
        pointer->buttons =
            event->value ? pointer->buttons | 1u << button : pointer->buttons & ~(1u << button);
    if (event->type == EV_ABS && device->kind == INPUT_TABLET) {
        if (event->code == ABS_X)
            pointer->x = event->value;
        if (event->code == ABS_Y)
            pointer->y = event->value;
        eventfd_write(input->moved_fd, 1);
    }
}

/* Lights and repeat settings come back from the kernel as events; they are ours and no input, and neither is
 * the report that ends a packet of nothing else. */
static bool is_input(struct input_device *device, const struct input_event *event)
{
    bool report = event->type == EV_SYN && event->code == SYN_REPORT;

    if (event->type == EV_LED || event->type == EV_REP || (report && device->unreported == 0))
        return false;
    device->unreported = report ? 0 : device->unreported + 1;
    return true;
}

/* One line for the file of events. Returns its length. */
static size_t describe(char *line, size_t size, int64_t t_us, const char *device, uint16_t type,
                       uint16_t code, int32_t value)
{
    return (size_t)snprintf(line, size,
                            "{\"t_us\":%lld,\"device\":\"%s\",\"type\":%u,\"code\":%u,\"value\":%d}\n",
                            (long long)t_us, device, type, code, value);
}

static void read_device(struct input *input, struct input_device *device)
{
    static const char *const names[] = {[INPUT_KEYBOARD] = "keyboard",
                                        [INPUT_TABLET] = "tablet",
                                        [INPUT_MOUSE] = "mouse",
                                        [INPUT_OTHER] = "other"};
    struct input_event events[EVENTS_AT_ONCE];
    char lines[EVENTS_AT_ONCE * LINE_BYTES_MAX];
    ssize_t got = read(device->fd, events, sizeof(events));
    size_t count = got > 0 ? (size_t)got / sizeof(events[0]) : 0, length = 0, recorded = 0;

    pthread_mutex_lock(&input->lock);
    for (size_t i = 0; i < count; i++) {
        const struct input_event *event = &events[i];

        if (!is_input(device, event))
            continue;
        take_event(input, device, event);
        recorded++;
        length += describe(lines + length, sizeof(lines) - length,
                           (int64_t)event->input_event_sec * 1000000 + event->input_event_usec,
                           names[device->kind], event->type, event->code, event->value);
    }
    if (recorded > 0 && write(input->events_fd, lines, length) == (ssize_t)length)
        input->state.events += recorded;
    else
        input->state.events_lost += recorded;
    pthread_mutex_unlock(&input->lock);
}

static void *read_devices(void *context)
{
    struct input *input = context;

    for (;;) {
        struct epoll_event ready[INPUT_DEVICES_MAX];
        int count = epoll_wait(input->epoll_fd, ready, INPUT_DEVICES_MAX, -1);

        for (int i = 0; i < count; i++)
            read_device(input, ready[i].data.ptr);
    }
    return NULL;
}

int input_start(struct input *input)
{
    struct sched_param priority = {.sched_priority = 10};
    cpu_set_t first;
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_mutex_init(&input->lock, NULL);
    input->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    input->moved_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    input->events_fd = open(GUEST_EVENTS, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    input->text_fd = open(GUEST_TEXT, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (input->epoll_fd < 0 || input->moved_fd < 0 || input->events_fd < 0 || input->text_fd < 0)
        return -1;
    for (int number = 0; number < INPUT_DEVICES_MAX; number++)
        open_device(input, number);
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    /* Where the devices' interrupts and the agent are: on another CPU, which the host may hold up alone, it
     * would miss what overflows the kernel's buffer while the agent answers. */
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    pthread_attr_setaffinity_np(&attributes, sizeof(first), &first);
    errno = pthread_create(&thread, &attributes, read_devices, input);
    return errno == 0 ? 0 : -1;
}

static void record_helper(struct input *input, uint16_t type, uint16_t code, int32_t value)
{
    char line[LINE_BYTES_MAX];
    size_t length = describe(line, sizeof(line), guest_now_us(), "helper", type, code, value);

    if (write(input->events_fd, line, length) == (ssize_t)length)
        input->state.events++;
    else
        input->state.events_lost++;
}

void input_enter(struct input *input, const char *bytes, size_t size)
{
    size_t length;

    pthread_mutex_lock(&input->lock);
    length = input->text.length;
    if (text_insert(&input->text, bytes, size))
        write_text(input, length);
    record_helper(input, EV_MSC, 0, (int32_t)size);
    pthread_mutex_unlock(&input->lock);
}

void input_helper(struct input *input, uint16_t type, uint16_t code, int32_t value)
{
    struct input_pointer *pointer = &input->state.pointer;

    pthread_mutex_lock(&input->lock);
    if (type == EV_ABS && code == ABS_X)
        pointer->x = value;
    if (type == EV_ABS && code == ABS_Y)
        pointer->y = value;
    record_helper(input, type, code, value);
    pthread_mutex_unlock(&input->lock);
    if (type == EV_ABS)
        eventfd_write(input->moved_fd, 1);
}

void input_reset(struct input *input)
{
    bool caps_lock;

    pthread_mutex_lock(&input->lock);
    caps_lock = input->text.caps_lock;
    text_reset(&input->text);
    if (caps_lock)
        show_caps_lock(input);
    if (ftruncate(input->events_fd, 0) < 0 || ftruncate(input->text_fd, 0) < 0)
        guest_say("events and text cannot be emptied: %s", strerror(errno));
    input->state.events = input->state.events_lost = 0;
    pthread_mutex_unlock(&input->lock);
}

struct input_state input_state(struct input *input)
{
    struct input_state state;

    pthread_mutex_lock(&input->lock);
    state = input->state;
    state.text_bytes = input->text.length;
    state.caps_lock = input->text.caps_lock;
    pthread_mutex_unlock(&input->lock);
    return state;
}
