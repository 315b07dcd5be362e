#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static enum log_level threshold = LOG_LEVEL_WARNING;

static const struct {
    const char *name;
    int syslog; /* RFC 5424 severity, as the journal reads it from "<N>" */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARNING] = {"warning", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

void log_set_level(enum log_level level)
{
    threshold = level;
}

enum log_level log_level_from_environment(enum log_level otherwise)
{
    const char *asked = getenv("BERTHOS_LOG");
    for (unsigned i = 0; asked && i < sizeof levels / sizeof *levels; i++)
        if (strcmp(levels[i].name, asked) == 0)
            return i;
    return otherwise;
}

void log_write(enum log_level level, const char *part, const char *format, ...)
{
    if (level > threshold)
        return;
    char message[1536], line[1664], now[CLOCK_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    int length;
    if (getenv("JOURNAL_STREAM")) {
        length = snprintf(line, sizeof line, "<%d>%s: %s\n", levels[level].syslog, part, message);
    } else {
        clock_format(clock_realtime_ms(), now);
        length = snprintf(line, sizeof line, "%s %s %s: %s\n", now, levels[level].name, part, message);
    }
    if (length > (int)sizeof line - 1)
        length = (int)sizeof line - 1;
    /* One write, so that lines of several threads do not mix; a full or closed stderr must not stop the node.
     */
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}
