/* berth view: a link that opens the guest in a browser. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "config/url.h"
#include "lease_arguments.h"
#include "session.h"

enum { OPTION_WATCH = 0x200, OPTION_OPEN, OPTION_TOKEN };
enum { OPENER_MS = 3000, OPENER_LOOK_MS = 20 };

struct arguments {
    struct lease_arguments lease;
    bool watch, open, token;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case OPTION_WATCH:
        arguments->watch = true;
        return 0;
    case OPTION_OPEN:
        arguments->open = true;
        return 0;
    case OPTION_TOKEN:
        arguments->token = true;
        return 0;
    case ARGP_KEY_ARG:
        lease_arguments_id(arg, state, &arguments->lease);
        return 0;
    case ARGP_KEY_END:
        if (arguments->token && arguments->watch)
            argp_error(state, "--watch needs a ticket: a pairing token may always act");
        if (arguments->token && arguments->open)
            argp_error(state, "--open would hand the pairing token to other programs; leave --token out");
        if (arguments->lease.json && (arguments->token || arguments->open))
            argp_error(state, "--json prints what the node answered, without --open and --token");
        return 0;
    default:
        return lease_arguments_option(key, arg, &arguments->lease);
    }
}

static const struct argp_option options[] = {
    {"watch", OPTION_WATCH, NULL, 0, "A link that sees and cannot act", 0},
    {"open", OPTION_OPEN, NULL, 0, "Open it in this desktop's browser (xdg-open)", 0},
    {"token", OPTION_TOKEN, NULL, 0, "Put the pairing token into the link instead of a ticket", 0},
    HELP_URL,
    HELP_JSON,
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .args_doc = "[LEASE]",
    .doc = "Print a link that opens the guest in a browser on the node's host. It is good once and for a "
           "minute; run this again for another. Without LEASE it is the only live one."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth view\n"
           "  berth view --open\n"
           "  berth view --watch\n",
};

/* The document of GET /v1/leases/{id}/view. */
static json_t *ask(struct session *session, const struct arguments *arguments, struct error *err)
{
    CLEANUP_FREE char *lease = session_lease(session, arguments->lease.lease, err);
    if (!lease)
        return NULL;
    CLEANUP_FREE char *path =
        text_format("/v1/leases/%s/view?mode=%s", lease, arguments->watch ? "watch" : "control");
    struct client_request request = {.method = "GET", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS};
    return client_ask(session->client, &request, err);
}

/* "http://127.0.0.1:PORT/?token=...". What the node answered goes to a browser: it must be what it says. */
static char *link_of(const json_t *view, const char *token, struct error *err)
{
    const char *base, *ticket;
    if (document_string(view, "viewer_url", &base, err) < 0 ||
        document_string(view, "ticket", &ticket, err) < 0)
        return NULL;
    CLEANUP_FREE char *checked = url_read(base, err);
    if (!checked)
        return NULL;
    if (!text_is_hex(ticket, 64)) {
        error_set(err, ERROR_INTERNAL, "the node's ticket is none");
        return NULL;
    }
    return text_format("%s/?token=%s", checked, token ? token : ticket);
}

/* The opener's side of the fork: tells through the pipe when it cannot be run, and by closing it that it is.
 */
static void become_opener(const char *link, int report)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    setsid(); /* a browser outlives this terminal's line */
    execlp("xdg-open", "xdg-open", link, (char *)NULL);
    int why = errno;
    if (write(report, &why, sizeof why) < 0)
        _exit(126);
    _exit(127);
}

/* Gives the link to the desktop; -1 when that cannot be done, as far as it shows soon. */
static int open_link(const char *link, struct error *err)
{
    int report[2], why = 0, status;
    if (pipe2(report, O_CLOEXEC) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot run xdg-open");
    pid_t child = fork();
    if (child == 0)
        become_opener(link, report[1]);
    close(report[1]);
    ssize_t got = child < 0 ? 0 : read(report[0], &why, sizeof why);
    close(report[0]);
    if (child < 0 || got > 0)
        return error_set_errno(err, ERROR_INTERNAL, child < 0 ? errno : why, "cannot run xdg-open");
    for (int64_t deadline_ms = clock_deadline(OPENER_MS); clock_left_ms(deadline_ms) > 0;) {
        if (waitpid(child, &status, WNOHANG) != child) {
            clock_sleep_ms(OPENER_LOOK_MS);
            continue;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return 0;
        return error_set(err, ERROR_INTERNAL, "xdg-open found nothing to open a link with");
    }
    return 0; /* it is the browser itself by now */
}

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.lease.url, SESSION_TOKEN, &err);
    CLEANUP_JSON json_t *view = session ? ask(session, &arguments, &err) : NULL;
    if (!view)
        return terminal_fail(&err);
    if (arguments.lease.json)
        return terminal_document(view);
    CLEANUP_FREE char *link = link_of(view, arguments.token ? session->token : NULL, &err);
    if (!link)
        return terminal_fail(&err);
    if (arguments.open) {
        if (open_link(link, &err) == 0)
            return EXIT_DONE;
        terminal_fail(&err);
        terminal_say("open this link yourself, within a minute:");
        printf("%s\n", link);
        return EXIT_REFUSED;
    }
    if (arguments.token)
        terminal_say("warning: this link holds your pairing token, which stays good; a link with a ticket is "
                     "safer to pass on");
    printf("%s\n", link);
    return EXIT_DONE;
}

const struct command command_view = {NULL, "view", "Print a link that opens the guest in a browser", &usage,
                                     run};
