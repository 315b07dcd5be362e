#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int64_t read_clock_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_ms(void)
{
    return read_clock_us(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_monotonic_us(void)
{
    return read_clock_us(CLOCK_MONOTONIC);
}

int64_t clock_boottime_ms(void)
{
    return read_clock_us(CLOCK_BOOTTIME) / 1000;
}

int64_t clock_realtime_ms(void)
{
    return read_clock_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_deadline(int64_t timeout_ms)
{
    int64_t now = clock_monotonic_ms();
    if (timeout_ms < 0 || timeout_ms > CLOCK_NEVER - now)
        return CLOCK_NEVER;
    return now + timeout_ms;
}

int clock_left_ms(int64_t deadline_ms)
{
    if (deadline_ms == CLOCK_NEVER)
        return INT32_MAX;
    int64_t now = clock_monotonic_ms();
    if (deadline_ms <= now) /* compared first: the difference to a far past would overflow */
        return 0;
    int64_t left = deadline_ms - now;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

void clock_format(int64_t realtime_ms, char text[CLOCK_TEXT_SIZE])
{
    int64_t seconds = realtime_ms / 1000;
    int64_t ms = realtime_ms % 1000;
    if (ms < 0) {
        ms += 1000;
        seconds--;
    }
    time_t when = (time_t)seconds;
    struct tm utc;
    char date[CLOCK_TEXT_SIZE];
    gmtime_r(&when, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text, CLOCK_TEXT_SIZE, "%.19s.%03dZ", date, (int)ms);
}

bool clock_parse(const char *text, int64_t *realtime_ms)
{
    static const char pattern[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    if (strlen(text) != sizeof pattern - 1)
        return false;
    for (size_t i = 0; pattern[i]; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (pattern[i] == 'd' ? !digit : text[i] != pattern[i])
            return false;
    }
    struct tm utc = {0};
    int ms;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
               &utc.tm_min, &utc.tm_sec, &ms) != 7)
        return false;
    struct tm given = utc;
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    time_t seconds = timegm(&utc);
    /* timegm() carries over what is out of range; such a text is no date. */
    if (utc.tm_mon + 1 != given.tm_mon || utc.tm_mday != given.tm_mday || utc.tm_hour != given.tm_hour ||
        utc.tm_min != given.tm_min || utc.tm_sec != given.tm_sec)
        return false;
    *realtime_ms = (int64_t)seconds * 1000 + ms;
    return true;
}

void clock_sleep_ms(int64_t ms)
{
    if (ms <= 0)
        return;
    struct timespec rest = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR)
        continue;
}

void clock_boot_id(char id[CLOCK_BOOT_ID_SIZE])
{
    ssize_t got = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, id, CLOCK_BOOT_ID_SIZE - 1);
        close(fd);
    }
    id[got > 0 ? got : 0] = '\0'; /* without /proc no two runs are the same */
}
