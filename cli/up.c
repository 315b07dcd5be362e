/*
 * berth up: takes a lease.
 *
 * The create answers only when the guest is usable, which takes seconds or, under emulation, a minute.
 * Meanwhile the node is asked a few times a second, on a connection of its own, how far the guest is.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "documents.h"
#include "protocol/lease.h"

enum { ASK_EVERY_MS = 250, ASK_TIMEOUT_MS = 2000 };

struct up_arguments {
    struct usage_common common;
    const char *os;                               /* NULL for linux */
    int64_t vcpu, mem_gib, disk_gib, ttl_seconds; /* 0 when not given */
};

static int read_os(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    if (strcmp(text, "linux") != 0 && strcmp(text, "windows") != 0 && strcmp(text, "macos") != 0)
        return error_set(err, ERROR_BAD_REQUEST, "--os is linux, not \"%s\"", text);
    return usage_text(row, text, place, err);
}

static const struct usage_row rows[] = {
    {"os", "OS", "The guest's system: linux, the only one there is", read_os, AT(up, os)},
    {"vcpu", "N", "Virtual CPUs, 1 to 64 (default: the node's)", usage_number, AT(up, vcpu), 1, 64},
    {"mem-gib", "N", "Memory in GiB, 1 to 512 (default: the node's)", usage_number, AT(up, mem_gib), 1, 512},
    {"disk-gib", "N", "Disk in GiB, 1 to 4096 (default: the node's)", usage_number, AT(up, disk_gib), 1,
     4096},
    {"ttl", "SECONDS", "End the lease by itself after that long (default: the node's)", usage_number,
     AT(up, ttl_seconds), 1, LEASE_MAX_SECONDS},
    {0},
};

/* Set by SIGINT and SIGTERM. A lock-free atomic may be stored to in a handler (C17 7.14.1.1). */
static atomic_bool interrupted;

static void note_signal(int number)
{
    (void)number;
    atomic_store(&interrupted, true);
}

/* What is shown while the create waits. */
struct watch {
    struct client *observer; /* borrowed */
    int64_t started_ms;      /* monotonic */
    char phase[32];          /* the last one told */
};

/* On a terminal one line with the seconds, renewed; elsewhere a line when the phase has changed. */
static void show_phase(void *context)
{
    struct watch *watch = context;
    struct client_request request = {
        .method = "GET", .path = "/v1/node", .timeout_ms = ASK_TIMEOUT_MS, .cancel = &interrupted};
    struct error ignored = ERROR_INIT; /* the create itself tells what is wrong */
    CLEANUP_JSON json_t *node = client_ask(watch->observer, &request, &ignored);
    if (!node)
        return;
    const char *phase = documents_phase(node);
    CLEANUP_FREE char *text = text_format("starting the guest: %s (%" PRId64 " s)", phase,
                                          (clock_monotonic_ms() - watch->started_ms) / 1000);
    if (isatty(STDERR_FILENO))
        terminal_update(text);
    else if (strncmp(watch->phase, phase, sizeof watch->phase - 1) != 0)
        terminal_say("%s", text);
    snprintf(watch->phase, sizeof watch->phase, "%s", phase);
}

static json_t *create_lease(struct session *session, json_t *body, struct error *err)
{
    CLEANUP_CLIENT struct client *observer = client_new(session->url, NULL, NULL);
    struct watch watch = {.observer = observer, .started_ms = clock_monotonic_ms()};
    struct client_request request = {.method = "POST",
                                     .path = "/v1/leases",
                                     .body = body,
                                     .timeout_ms = CLIENT_NO_TIMEOUT,
                                     .cancel = &interrupted,
                                     .tick = show_phase,
                                     .tick_context = &watch,
                                     .tick_ms = ASK_EVERY_MS};
    struct sigaction action = {.sa_handler = note_signal}, before_int, before_term;
    sigaction(SIGINT, &action, &before_int);
    sigaction(SIGTERM, &action, &before_term);
    json_t *lease = client_ask(session->client, &request, err);
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    terminal_update(NULL);
    return lease;
}

static json_t *make_body(const struct up_arguments *given)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"vcpu", given->vcpu},
        {"mem_gib", given->mem_gib},
        {"disk_gib", given->disk_gib},
        {"ttl_seconds", given->ttl_seconds},
    };
    json_t *body = json_pack("{s:s}", "os", "linux");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].value)
            json_object_set_new(body, numbers[i].key, json_integer(numbers[i].value));
    return body;
}

/* url: what --url said, or NULL; the next commands need it too. */
static void tell_next(const char *url)
{
    CLEANUP_FREE char *where = url ? text_format(" --url %s", url) : text_copy("");
    terminal_say("next: berth screenshot%s -o screen.png", where);
    terminal_say("      berth act%s '{\"op\": \"type\", \"text\": \"hello\"}'", where);
    terminal_say("      berth end%s", where);
}

static int run_up(struct session *none, const void *arguments, struct error *err)
{
    (void)none; /* a system that is not offered is told before a node is asked for */
    const struct up_arguments *given = arguments;
    if (given->os && strcmp(given->os, "linux") != 0)
        return error_set(err, ERROR_OS_REFUSED,
                         "%s guests are not offered: a node leases Linux desktops alone",
                         strcmp(given->os, "macos") == 0 ? "macOS" : "Windows");
    CLEANUP_SESSION struct session *session = session_open(given->common.url, NULL, SESSION_TOKEN, err);
    if (!session)
        return -1;
    int64_t started_ms = clock_monotonic_ms();
    CLEANUP_JSON json_t *body = make_body(given);
    CLEANUP_JSON json_t *lease = create_lease(session, body, err);
    if (!lease && atomic_load(&interrupted)) {
        terminal_say("berth: interrupted; the lease may still come up: see it with berth status, end it with "
                     "berth end");
        return EXIT_REFUSED;
    }
    if (!lease)
        return -1;
    terminal_say("live after %.1f s", (double)(clock_monotonic_ms() - started_ms) / 1000);
    if (given->common.json)
        terminal_document(lease);
    else
        documents_print_lease(lease);
    tell_next(given->common.url);
    return EXIT_DONE;
}

const struct command command_up = {
    NULL,
    "up",
    "Take a lease and wait until it is usable",
    .usage = {.takes = TAKES_URL | TAKES_JSON,
              .rows = rows,
              .size = sizeof(struct up_arguments),
              .help = "Take a lease and wait until its desktop can be used.",
              .examples = "berth up\n"
                          "berth up --vcpu 4 --mem-gib 8 --ttl 3600\n"
                          "berth up --json | jq -r .id"},
    .run = run_up,
};
