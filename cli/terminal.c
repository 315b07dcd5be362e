#include "terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "layout.h"

/* The widest label of terminal_row(). */
enum { LABEL_WIDTH = 10 };

bool terminal_colour_ok(int fd)
{
    const char *refused = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    return isatty(fd) && !(refused && refused[0]) && kind && strcmp(kind, "dumb") != 0;
}

size_t terminal_width(int fd)
{
    struct winsize size;
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

void terminal_paint(enum terminal_colour colour, const char *text)
{
    static const char *const codes[] = {
        [COLOUR_RED] = "31", [COLOUR_YELLOW] = "33", [COLOUR_GREEN] = "32", [COLOUR_DIM] = "2"};
    if (colour != COLOUR_NONE && terminal_colour_ok(STDOUT_FILENO))
        printf("\033[%sm%s\033[0m", codes[colour], text);
    else
        fputs(text, stdout);
}

void terminal_row(const char *label, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    CLEANUP_FREE char *text = text_format_args(format, args);
    va_end(args);
    terminal_text(label, text);
}

void terminal_text(const char *label, const char *text)
{
    if (!text)
        return;
    CLEANUP_FREE char *clean = layout_clean(text);
    CLEANUP_FREE char *wrapped = layout_wrap(clean, LABEL_WIDTH + 2, terminal_width(STDOUT_FILENO));
    printf("%-*s  %s\n", LABEL_WIDTH, label, wrapped);
}

void terminal_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    CLEANUP_FREE char *text = text_format_args(format, args);
    va_end(args);
    CLEANUP_FREE char *clean = layout_clean(text);
    CLEANUP_FREE char *wrapped = layout_wrap(clean, 0, terminal_width(STDERR_FILENO));
    fflush(stdout); /* in order where both go to one place */
    fprintf(stderr, "%s\n", wrapped);
}

int terminal_fail(const struct error *err)
{
    terminal_update(NULL);
    terminal_say("berth: %s", err->text);
    return EXIT_REFUSED;
}

int terminal_document(const json_t *document)
{
    CLEANUP_FREE char *text = document_pretty(document);
    fputs(text, stdout);
    return EXIT_DONE;
}

void terminal_update(const char *text)
{
    static bool shown;
    if (!isatty(STDERR_FILENO) || (!text && !shown))
        return;
    shown = text != NULL;
    CLEANUP_FREE char *clean = layout_clean(text ? text : "");
    int width = (int)terminal_width(STDERR_FILENO);
    fprintf(stderr, "\r%.*s\033[K", width > 1 ? width - 1 : width, clean);
    fflush(stderr);
}

void terminal_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    enum { EVERY_MS = 100 };
    static int64_t next_ms;
    (void)context;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < next_ms && done_bytes < total_bytes)
        return;
    next_ms = now_ms + EVERY_MS;
    if (done_bytes >= total_bytes) {
        terminal_update(NULL);
        return;
    }
    CLEANUP_FREE char *done = layout_size(done_bytes);
    CLEANUP_FREE char *total = layout_size(total_bytes);
    CLEANUP_FREE char *line =
        text_format("checking the image: %u %% (%s of %s)",
                    (unsigned)((double)done_bytes * 100 / (double)total_bytes), done, total);
    terminal_update(line);
}
