/* berth view: a link that opens the guest in a browser. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "command.h"
#include "config/home.h"
#include "config/url.h"

/* PAGE_S: as long as a ticket is good. */
enum { OPENER_MS = 3000, OPENER_LOOK_MS = 20, PAGE_S = 60 };

struct view_arguments {
    struct usage_common common;
    bool watch, open, token;
};

static const struct usage_row rows[] = {
    {"watch", NULL, "A link that sees and cannot act", usage_flag, AT(view, watch)},
    {"open", NULL, "Open it in this desktop's browser (xdg-open)", usage_flag, AT(view, open)},
    {"token", NULL, "Put the pairing token into the link instead of a ticket", usage_flag, AT(view, token)},
    {0},
};

static int check_link(const void *arguments, struct error *err)
{
    const struct view_arguments *given = arguments;
    const char *wrong = NULL;
    if (given->token && given->watch)
        wrong = "--watch needs a ticket: a pairing token may always act";
    else if (given->token && given->open)
        wrong = "--open would hand the pairing token to other programs; leave --token out";
    else if (given->common.json && (given->token || given->open))
        wrong = "--json prints what the node answered, without --open and --token";
    return wrong ? error_set(err, ERROR_BAD_REQUEST, "%s", wrong) : 0;
}

/* "http://127.0.0.1:PORT/?token=...". What the node answered goes to a browser: it must be what it says. */
static char *make_link(const json_t *view, const char *token, struct error *err)
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

/* --- --open ---------------------------------------------------------------------------------------- */

/* Leaves the terminal and every connection: what goes on outlives the command. */
static void leave_command(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        dup2(null, fd);
    setsid();
}

/* The opener's side of the fork: tells through the pipe when it cannot be run, and by closing it that it is.
 */
static void become_opener(const char *link, int report)
{
    leave_command(); /* a browser outlives this terminal's line */
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

/*
 * A page that leads on to the link, for this user's eyes alone. The argument list of a browser can be read by
 * every user of the host, so it gets the name of this file. *Owned*: the path.
 */
static char *write_page(const char *home, const char *link, struct error *err)
{
    char name[17];
    random_hex(name, sizeof name / 2);
    CLEANUP_FREE char *path = text_format("%s/view-%s.html", home, name);
    CLEANUP_FREE char *page = text_format("<!doctype html><meta charset=\"utf-8\"><title>Berthos</title>"
                                          "<meta name=\"referrer\" content=\"no-referrer\">"
                                          "<meta http-equiv=\"refresh\" content=\"0; url=%s\">"
                                          "<a href=\"%s\">To the guest</a>\n",
                                          link, link);
    int written = file_write_atomic(path, 0600, page, strlen(page), err);
    explicit_bzero(page, strlen(page));
    return written == 0 ? TAKE(path) : NULL;
}

static bool is_page(const char *name)
{
    return text_starts(name, "view-") && strstr(name, ".html");
}

/* The page goes when its ticket does, and nobody waits for that. */
static void remove_later(const char *path)
{
    if (fork() != 0)
        return;
    leave_command();
    close_range(3, ~0U, 0);
    sleep(PAGE_S);
    unlink(path);
    _exit(0);
}

static int open_page(const char *link, struct error *err)
{
    CLEANUP_FREE char *home = config_home();
    /* what an earlier run could not remove: the tickets are no good any more */
    file_sweep_named(home, is_page, PAGE_S * 1000);
    CLEANUP_FREE char *path = write_page(home, link, err);
    if (!path)
        return -1;
    CLEANUP_FREE char *page = text_format("file://%s", path);
    int opened = open_link(page, err);
    if (opened == 0)
        remove_later(path);
    else
        unlink(path);
    return opened;
}

static int run_view(struct session *session, const void *arguments, struct error *err)
{
    const struct view_arguments *given = arguments;
    CLEANUP_FREE char *path =
        text_format("/v1/leases/%s/view?mode=%s", session->lease, given->watch ? "watch" : "control");
    CLEANUP_JSON json_t *view = session_ask(session, "GET", path, err);
    if (!view)
        return -1;
    if (given->common.json)
        return terminal_document(view);
    CLEANUP_FREE char *link = make_link(view, given->token ? session->token : NULL, err);
    if (!link)
        return -1;
    if (given->open) {
        if (open_page(link, err) == 0)
            return EXIT_DONE;
        terminal_fail(err);
        terminal_say("open this link yourself, within a minute:");
        printf("%s\n", link);
        return EXIT_REFUSED;
    }
    if (given->token)
        terminal_say("warning: this link holds your pairing token, which stays good; a link with a ticket is "
                     "safer to pass on");
    printf("%s\n", link);
    return EXIT_DONE;
}

const struct command command_view = {
    NULL,
    "view",
    "Print a link that opens the guest in a browser",
    .usage = {.takes = TAKES_URL | TAKES_JSON | TAKES_LEASE,
              .rows = rows,
              .size = sizeof(struct view_arguments),
              .check = check_link,
              .help = "Print a link that opens the guest in a browser on the node's host. "
                      "It is good once and for a minute; run this again for another. "
                      "Without LEASE it is the only live one.",
              .examples = "berth view\n"
                          "berth view --open\n"
                          "berth view --watch"},
    .need = SESSION_LEASE,
    .run = run_view,
};
