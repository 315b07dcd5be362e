#include "commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <linux/input.h>

enum { WORDS_MAX = 8, SIZE_MIN = 64, SIZE_MAX_PIXELS = 4096, FLIPS_MAX = 100000, PERIOD_MS_MAX = 60000 };

/* How long after the answer the guest ends, so that the agent can still carry the answer out. */
enum { END_DELAY_MS = 200, END_DELAY_MS_MAX = 60000 };

struct request {
    char *words[WORDS_MAX];
    int count; /* of words; the first is the command */
    int client_fd;
    bool later; /* the command answers and closes client_fd itself */
    char answer[GUEST_LINE_MAX];
};

struct command {
    const char *name, *arguments;
    int least, most; /* words after the name */
    void (*run)(struct guest *guest, struct request *request);
};

static void __attribute__((format(printf, 2, 3)))
accept_with(struct request *request, const char *format, ...)
{
    char text[GUEST_LINE_MAX - 32] = "";
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(request->answer, sizeof(request->answer), "{\"ok\":true%s%s}\n", text[0] ? "," : "", text);
}

/* The sentence must need no escaping in JSON. */
static void __attribute__((format(printf, 2, 3))) refuse(struct request *request, const char *format, ...)
{
    char text[GUEST_LINE_MAX - 64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(request->answer, sizeof(request->answer), "{\"ok\":false,\"error\":\"%s\"}\n", text);
}

static void send_answer(const struct request *request)
{
    size_t length = strlen(request->answer);

    if (write(request->client_fd, request->answer, length) != (ssize_t)length)
        guest_say("an answer found nobody");
    close(request->client_fd);
}

/* A whole number of the given base in [least, most]; else the request is refused. */
static bool number(struct request *request, const char *word, int base, int64_t least, int64_t most,
                   int64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoll(word, &end, base);
    if (errno == 0 && end != word && *end == '\0' && *value >= least && *value <= most)
        return true;
    refuse(request, "a number from %lld to %lld is wanted", (long long)least, (long long)most);
    return false;
}

static void arm(int timer_fd, int64_t at_us)
{
    struct itimerspec when = {.it_value = {.tv_sec = at_us / 1000000, .tv_nsec = at_us % 1000000 * 1000}};

    timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Ends a running flip and answers who waits for it; `error` is NULL when all its pictures were shown. */
static void finish_flip(struct guest *guest, const char *error)
{
    struct flip *flip = &guest->flip;
    struct request request = {.client_fd = flip->client_fd};
    char picture[GUEST_LINE_MAX / 2];

    if (flip->client_fd < 0)
        return;
    arm(flip->timer_fd, 0);
    flip->client_fd = -1;
    screen_describe(&guest->screen, picture, sizeof(picture));
    if (error)
        refuse(&request, "%s", error);
    else
        accept_with(&request, "\"first_seq\":%u,%s", flip->first, picture);
    send_answer(&request);
}

static void show(struct guest *guest, struct request *request, struct paint paint)
{
    char picture[GUEST_LINE_MAX / 2];

    finish_flip(guest, "another command painted");
    if (screen_paint(&guest->screen, paint) < 0) {
        refuse(request, "the picture cannot be shown: %s", strerror(errno));
        return;
    }
    screen_describe(&guest->screen, picture, sizeof(picture));
    accept_with(request, "%s", picture);
}

static void run_paint(struct guest *guest, struct request *request)
{
    int64_t seed;

    if (number(request, request->words[1], 0, 0, UINT32_MAX, &seed))
        show(guest, request, (struct paint){PAINT_PATTERN, (uint32_t)seed});
}

static void run_noise(struct guest *guest, struct request *request)
{
    int64_t seed;

    if (number(request, request->words[1], 0, 0, UINT32_MAX, &seed))
        show(guest, request, (struct paint){PAINT_NOISE, (uint32_t)seed});
}

static void run_fill(struct guest *guest, struct request *request)
{
    int64_t colour;

    if (number(request, request->words[1], 16, 0, 0xffffff, &colour))
        show(guest, request, (struct paint){PAINT_FILL, (uint32_t)colour});
}

static void run_flip(struct guest *guest, struct request *request)
{
    struct flip *flip = &guest->flip;
    int64_t count, period_ms, seed = 1000;

    if (!number(request, request->words[1], 0, 1, FLIPS_MAX, &count) ||
        !number(request, request->words[2], 0, 0, PERIOD_MS_MAX, &period_ms) ||
        (request->count > 3 && !number(request, request->words[3], 0, 0, UINT32_MAX, &seed)))
        return;
    finish_flip(guest, "another flip began");
    flip->client_fd = request->client_fd;
    flip->left = (uint32_t)count;
    flip->seed = (uint32_t)seed;
    flip->first = guest->screen.sequence + 1;
    flip->period_us = period_ms * 1000;
    flip->next_us = guest_now_us();
    request->later = true;
    commands_flip_due(guest);
}

void commands_flip_due(struct guest *guest)
{
    struct flip *flip = &guest->flip;
    uint64_t fired;

    if (read(flip->timer_fd, &fired, sizeof(fired)) < 0 && errno != EAGAIN)
        guest_say("the flip timer cannot be read: %s", strerror(errno));
    if (flip->client_fd < 0)
        return;
    if (screen_paint(&guest->screen, (struct paint){PAINT_PATTERN, flip->seed++}) < 0) {
        finish_flip(guest, "a picture could not be shown");
        return;
    }
    if (--flip->left == 0) {
        finish_flip(guest, NULL);
        return;
    }
    /* A guest that is too slow for the period shows every picture, later. Never 0: that disarms. */
    flip->next_us += flip->period_us;
    if (flip->next_us < guest->screen.shown_us)
        flip->next_us = guest->screen.shown_us;
    arm(flip->timer_fd, flip->next_us);
}

static void run_mode(struct guest *guest, struct request *request)
{
    char *height_word = strchr(request->words[1], 'x'), picture[GUEST_LINE_MAX / 2];
    int64_t width, height;

    if (!height_word) {
        refuse(request, "a size is WIDTHxHEIGHT, as in 1366x768");
        return;
    }
    *height_word++ = '\0';
    if (!number(request, request->words[1], 10, SIZE_MIN, SIZE_MAX_PIXELS, &width) ||
        !number(request, height_word, 10, SIZE_MIN, SIZE_MAX_PIXELS, &height))
        return;
    finish_flip(guest, "the display changed its size");
    if (screen_resize(&guest->screen, (uint32_t)width, (uint32_t)height, false) < 0) {
        refuse(request, "the display cannot be %lldx%lld: %s", (long long)width, (long long)height,
               strerror(errno));
        return;
    }
    screen_describe(&guest->screen, picture, sizeof(picture));
    accept_with(request, "%s", picture);
}

static void run_mark(struct guest *guest, struct request *request)
{
    struct input_state state = input_state(&guest->input);

    guest->screen.marking = strcmp(request->words[1], "on") == 0;
    if (!guest->screen.marking && strcmp(request->words[1], "off") != 0)
        refuse(request, "mark takes on or off");
    else if (screen_mark(&guest->screen, &state.pointer) < 0)
        refuse(request, "the mark cannot be drawn: %s", strerror(errno));
    else
        accept_with(request, "\"mark\":%s,\"x\":%u,\"y\":%u,\"t_us\":%lld",
                    guest->screen.marked ? "true" : "false", guest->screen.mark_x, guest->screen.mark_y,
                    (long long)guest_now_us());
}

static void run_pointer(struct guest *guest, struct request *request)
{
    static const char *const names[] = {"left",  "right",   "middle", "side",
                                        "extra", "forward", "back",   "task"};
    struct input_pointer pointer = input_state(&guest->input).pointer;
    char buttons[128] = "";
    size_t length = 0;
    uint32_t x, y;

    screen_pointer(&guest->screen, &pointer, &x, &y);
    for (uint32_t button = 0; button < INPUT_BUTTONS_MAX; button++)
        if (pointer.buttons >> button & 1)
            length += (size_t)snprintf(buttons + length, sizeof(buttons) - length, "%s\"%s\"",
                                       length > 0 ? "," : "", names[button]);
    accept_with(request,
                "\"x\":%u,\"y\":%u,\"raw_x\":%d,\"raw_y\":%d,\"max_x\":%d,\"max_y\":%d,\"buttons\":[%s]", x,
                y, pointer.x, pointer.y, pointer.max_x, pointer.max_y, buttons);
}

static void run_status(struct guest *guest, struct request *request)
{
    struct input_state state = input_state(&guest->input);
    char picture[GUEST_LINE_MAX / 2];

    screen_describe(&guest->screen, picture, sizeof(picture));
    accept_with(request,
                "%s,\"now_us\":%lld,\"first_shown_us\":%lld,\"flipping\":%s,\"mark\":%s,\"caps_lock\":%s,"
                "\"events\":%llu,\"events_lost\":%llu,\"text_bytes\":%llu",
                picture, (long long)guest_now_us(), (long long)guest->screen.first_shown_us,
                guest->flip.client_fd >= 0 ? "true" : "false", guest->screen.marked ? "true" : "false",
                state.caps_lock ? "true" : "false", (unsigned long long)state.events,
                (unsigned long long)state.events_lost, (unsigned long long)state.text_bytes);
}

static void run_reset(struct guest *guest, struct request *request)
{
    finish_flip(guest, "a reset came");
    guest->screen.marking = false;
    if (screen_mark(&guest->screen, &(struct input_pointer){0}) < 0)
        guest_say("the mark cannot be taken away: %s", strerror(errno));
    input_reset(&guest->input);
    unlink(GUEST_PAINTS);
    accept_with(request, "\"t_us\":%lld", (long long)guest_now_us());
}

/* Hex to bytes; 0 when it is not hex of 1 to `most` bytes. */
static size_t unhex(const char *hex, char *bytes, size_t most)
{
    size_t size = 0;

    for (; hex[0] && hex[1] && size < most; hex += 2, size++) {
        char digits[3] = {hex[0], hex[1], '\0'}, *end;

        bytes[size] = (char)strtoul(digits, &end, 16);
        if (*end)
            return 0;
    }
    return hex[0] ? 0 : size;
}

/* Of the input helper alone (helper.c): bytes for the text field. */
static void run_enter(struct guest *guest, struct request *request)
{
    char bytes[GUEST_LINE_MAX / 2];
    size_t size = unhex(request->words[1], bytes, sizeof(bytes));

    if (size == 0) {
        refuse(request, "hex is wanted");
        return;
    }
    input_enter(&guest->input, bytes, size);
    accept_with(request, "\"t_us\":%lld", (long long)guest_now_us());
}

/* Of the input helper alone: the pointer to a pixel, then an event so many times. */
static void run_point(struct guest *guest, struct request *request)
{
    struct input *input = &guest->input;
    struct input_pointer pointer = input_state(input).pointer;
    int64_t x, y, type, code, value, times, width = guest->screen.display.width,
                                            height = guest->screen.display.height;

    if (!number(request, request->words[1], 10, 0, width - 1, &x) ||
        !number(request, request->words[2], 10, 0, height - 1, &y) ||
        !number(request, request->words[3], 10, 0, EV_MAX, &type) ||
        !number(request, request->words[4], 10, 0, KEY_MAX, &code) ||
        !number(request, request->words[5], 10, -1, 1, &value) ||
        !number(request, request->words[6], 10, 0, 100, &times))
        return;
    input_helper(input, EV_ABS, ABS_X, (int32_t)((x * pointer.max_x + width / 2) / width));
    input_helper(input, EV_ABS, ABS_Y, (int32_t)((y * pointer.max_y + height / 2) / height));
    for (; times > 0; times--) {
        input_helper(input, (uint16_t)type, (uint16_t)code, (int32_t)value);
        if (type == EV_KEY)
            input_helper(input, EV_KEY, (uint16_t)code, 0);
    }
    accept_with(request, "\"t_us\":%lld", (long long)guest_now_us());
}

static void end_soon(struct guest *guest, struct request *request, enum boot_end end)
{
    int64_t delay_ms = END_DELAY_MS;

    if (request->count > 1 && !number(request, request->words[1], 10, 0, END_DELAY_MS_MAX, &delay_ms))
        return;
    guest->end = end;
    arm(guest->end_timer_fd, guest_now_us() + delay_ms * 1000);
    accept_with(request, "\"delay_ms\":%lld", (long long)delay_ms);
}

static void run_poweroff(struct guest *guest, struct request *request)
{
    end_soon(guest, request, BOOT_POWEROFF);
}

static void run_reboot(struct guest *guest, struct request *request)
{
    end_soon(guest, request, BOOT_REBOOT);
}

static void run_panic(struct guest *guest, struct request *request)
{
    end_soon(guest, request, BOOT_PANIC);
}

static const struct command commands[] = {
    {"paint", "SEED", 1, 1, run_paint},
    {"fill", "RRGGBB", 1, 1, run_fill},
    {"noise", "SEED", 1, 1, run_noise},
    {"flip", "COUNT PERIOD_MS [SEED]", 2, 3, run_flip},
    {"mode", "WIDTHxHEIGHT", 1, 1, run_mode},
    {"mark", "on|off", 1, 1, run_mark},
    {"pointer", "", 0, 0, run_pointer},
    {"status", "", 0, 0, run_status},
    {"reset", "", 0, 0, run_reset},
    {"enter", "HEX", 1, 1, run_enter},
    {"point", "X Y TYPE CODE VALUE TIMES", 6, 6, run_point},
    {"poweroff", "[DELAY_MS]", 0, 1, run_poweroff},
    {"reboot", "[DELAY_MS]", 0, 1, run_reboot},
    {"panic", "[DELAY_MS]", 0, 1, run_panic},
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

void commands_run(struct guest *guest, int client_fd, char *line)
{
    struct request request = {.client_fd = client_fd};
    const struct command *command = NULL;
    char *rest = NULL;

    for (char *word = strtok_r(line, " \t\r\n", &rest); word && request.count < WORDS_MAX;
         word = strtok_r(NULL, " \t\r\n", &rest))
        request.words[request.count++] = word;
    if (request.count > 0)
        command = find(request.words[0]);
    if (!command)
        refuse(&request, "there is no such command; README.md has the list");
    else if (request.count - 1 < command->least || request.count - 1 > command->most)
        refuse(&request, "usage: %s %s", command->name, command->arguments);
    else
        command->run(guest, &request);
    if (!request.later)
        send_answer(&request);
}

int commands_start(struct guest *guest)
{
    guest->flip = (struct flip){.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
                                .client_fd = -1};
    guest->end_timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return guest->flip.timer_fd < 0 || guest->end_timer_fd < 0 ? -1 : 0;
}
