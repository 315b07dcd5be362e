/* berth screenshot: what the guest shows now, as a PNG. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "command.h"

/* 4 bytes for each pixel of an 8192 x 4096 screen, the largest that could be meant. */
enum { PICTURE_MAX_BYTES = 128 * 1024 * 1024 };

struct screenshot_arguments {
    struct usage_common common;
    const char *file; /* NULL for the default, "-" for stdout */
};

static const struct usage_row rows[] = {
    {"output", "FILE", "Where to put it; - is stdout (default: berth-TIME.png here)", usage_path,
     AT(screenshot, file), .letter = 'o'},
    {0},
};

/* "berth-20260131T235959Z.png" */
static char *make_name(void)
{
    char text[32];
    struct tm now;
    time_t seconds = (time_t)(clock_realtime_ms() / 1000);
    gmtime_r(&seconds, &now);
    strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &now);
    return text_format("berth-%s.png", text);
}

static mode_t usual_mode(void)
{
    mode_t mask = umask(077);
    umask(mask);
    return 0666 & ~mask;
}

/* A device or pipe cannot be replaced (as root, /dev/null even could): it is written to. */
static int write_through(const char *path, const struct client_answer *picture, struct error *err)
{
    CLEANUP_FCLOSE FILE *out = fopen(path, "we");
    if (!out || fwrite(picture->data, 1, picture->size, out) != picture->size || fflush(out) != 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot write %s", path);
    return 0;
}

static int save_picture(const char *path, const struct client_answer *picture, struct error *err)
{
    struct stat info;
    CLEANUP_FREE char *target = realpath(path, NULL); /* a symbolic link stays one */
    if (target && stat(target, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return error_set(err, ERROR_BAD_REQUEST, "%s is a folder: name a file in it", path);
        if (!S_ISREG(info.st_mode))
            return write_through(target, picture, err);
        return file_write_atomic(target, info.st_mode & 0777, picture->data, picture->size, err);
    }
    return file_write_atomic(path, usual_mode(), picture->data, picture->size, err);
}

static int fetch_picture(struct session *session, struct client_answer *picture, struct error *err)
{
    static const char signature[8] = "\x89PNG\r\n\x1a\n"; /* PNG 5.2 */
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/screenshot", session->lease);
    struct client_request request = {
        .method = "GET", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS, .max_bytes = PICTURE_MAX_BYTES};
    if (client_send(session->client, &request, picture, err) < 0)
        return -1;
    if (picture->size < sizeof signature || memcmp(picture->data, signature, sizeof signature) != 0)
        return error_set(err, ERROR_INTERNAL, "what %s answered is not a PNG (it says %s)", session->url,
                         picture->type);
    return 0;
}

static int run_screenshot(struct session *none, const void *arguments, struct error *err)
{
    (void)none; /* a terminal is refused before a node is asked for */
    const struct screenshot_arguments *given = arguments;
    bool to_stdout = given->file && strcmp(given->file, "-") == 0;
    if (to_stdout && isatty(STDOUT_FILENO))
        return error_set(err, ERROR_BAD_REQUEST,
                         "a picture does not belong on a terminal: send stdout to a file or a program, or "
                         "name a file with -o");
    CLEANUP_SESSION struct session *session =
        session_open(given->common.url, given->common.lease, SESSION_LEASE, err);
    CLEANUP_CLIENT_ANSWER struct client_answer picture = {0};
    if (!session || fetch_picture(session, &picture, err) < 0)
        return -1;
    if (to_stdout) {
        fwrite(picture.data, 1, picture.size, stdout);
        return EXIT_DONE;
    }
    CLEANUP_FREE char *name = given->file ? text_copy(given->file) : make_name();
    if (save_picture(name, &picture, err) < 0)
        return -1;
    printf("%s\n", name);
    return EXIT_DONE;
}

const struct command command_screenshot = {
    NULL,
    "screenshot",
    "Save what the guest shows",
    .usage = {.takes = TAKES_URL | TAKES_LEASE,
              .rows = rows,
              .size = sizeof(struct screenshot_arguments),
              .help = "Save what the guest shows now as a PNG and print the file's name. "
                      "Without LEASE it is the only live one.",
              .examples = "berth screenshot\n"
                          "berth screenshot -o screen.png\n"
                          "berth screenshot -o - | display"},
    .run = run_screenshot,
};
