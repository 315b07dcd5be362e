/* berth screenshot: what the guest shows now, as a PNG. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
#include "lease_arguments.h"
#include "session.h"

/* 4 bytes for each pixel of an 8192 x 4096 screen, the largest that could be meant. */
enum { PICTURE_MAX_BYTES = 128 * 1024 * 1024 };

struct arguments {
    struct lease_arguments lease;
    const char *file; /* NULL for the default, "-" for stdout */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'o':
        if (!arg[0])
            argp_error(state, "--output needs the name of a file");
        arguments->file = arg;
        return 0;
    case ARGP_KEY_ARG:
        lease_arguments_id(arg, state, &arguments->lease);
        return 0;
    case OPTION_JSON:
        return ARGP_ERR_UNKNOWN;
    default:
        return lease_arguments_option(key, arg, &arguments->lease);
    }
}

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Where to put it; - is stdout (default: berth-TIME.png here)", 0},
    HELP_URL,
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .args_doc = "[LEASE]",
    .doc = "Save what the guest shows now as a PNG and print the file's name. Without LEASE it is the only "
           "live one."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth screenshot\n"
           "  berth screenshot -o screen.png\n"
           "  berth screenshot -o - | display\n",
};

/* "berth-20260131T235959Z.png" */
static char *default_name(void)
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

static int save(const char *path, const struct client_answer *picture, struct error *err)
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

static int fetch(struct session *session, const char *lease, struct client_answer *picture, struct error *err)
{
    static const char signature[8] = "\x89PNG\r\n\x1a\n"; /* PNG 5.2 */
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/screenshot", lease);
    struct client_request request = {
        .method = "GET", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS, .max_bytes = PICTURE_MAX_BYTES};
    if (client_send(session->client, &request, picture, err) < 0)
        return -1;
    if (picture->size < sizeof signature || memcmp(picture->data, signature, sizeof signature) != 0)
        return error_set(err, ERROR_INTERNAL, "what %s answered is not a PNG (it says %s)", session->url,
                         picture->type);
    return 0;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    bool to_stdout = arguments.file && strcmp(arguments.file, "-") == 0;
    if (to_stdout && isatty(STDOUT_FILENO)) {
        error_set(&err, ERROR_BAD_REQUEST,
                  "a picture does not belong on a terminal: send stdout to a file or a "
                  "program, or name a file with -o");
        return terminal_fail(&err);
    }
    CLEANUP_SESSION struct session *session = session_open(arguments.lease.url, SESSION_TOKEN, &err);
    CLEANUP_FREE char *lease = session ? session_lease(session, arguments.lease.lease, &err) : NULL;
    CLEANUP_CLIENT_ANSWER struct client_answer picture = {0};
    if (!lease || fetch(session, lease, &picture, &err) < 0)
        return terminal_fail(&err);
    if (to_stdout) {
        fwrite(picture.data, 1, picture.size, stdout);
        return EXIT_DONE;
    }
    CLEANUP_FREE char *name = arguments.file ? text_copy(arguments.file) : default_name();
    if (save(name, &picture, &err) < 0)
        return terminal_fail(&err);
    printf("%s\n", name);
    return EXIT_DONE;
}

const struct command command_screenshot = {NULL, "screenshot", "Save what the guest shows", &usage, run};
