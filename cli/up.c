/*
 * berth up: takes a lease.
 *
 * The create answers only when the guest is usable, which takes seconds or, under emulation, a minute. So it
 * runs on a thread of its own, while this one asks the node a few times a second how far the guest is.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/sync.h"
#include "base/text.h"
#include "command.h"
#include "documents.h"
#include "session.h"
#include "wait_line.h"

enum { KEY_OS = 0x200, KEY_VCPU, KEY_MEM, KEY_DISK, KEY_TTL };
enum { ASK_EVERY_MS = 250, ASK_TIMEOUT_MS = 2000 };

struct arguments {
    const char *os, *url;
    int64_t vcpu, mem_gib, disk_gib, ttl_seconds; /* 0 when not given */
    bool json;
};

static void parse_number(struct argp_state *state, const char *option, const char *text, int64_t max,
                         int64_t *value)
{
    if (!text_to_integer(text, 1, max, value))
        argp_error(state, "--%s is a whole number from 1 to %" PRId64 ", not \"%s\"", option, max, text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_OS:
        arguments->os = arg;
        if (strcmp(arg, "linux") != 0 && strcmp(arg, "windows") != 0 && strcmp(arg, "macos") != 0)
            argp_error(state, "--os is linux, not \"%s\"", arg);
        return 0;
    case OPTION_URL:
        arguments->url = arg;
        return 0;
    case KEY_VCPU:
        parse_number(state, "vcpu", arg, 64, &arguments->vcpu);
        return 0;
    case KEY_MEM:
        parse_number(state, "mem-gib", arg, 512, &arguments->mem_gib);
        return 0;
    case KEY_DISK:
        parse_number(state, "disk-gib", arg, 4096, &arguments->disk_gib);
        return 0;
    case KEY_TTL:
        parse_number(state, "ttl", arg, 31536000, &arguments->ttl_seconds);
        return 0;
    case OPTION_JSON:
        arguments->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is too much", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"os", KEY_OS, "OS", 0, "The guest's system: linux, the only one there is", 0},
    HELP_URL,
    {"vcpu", KEY_VCPU, "N", 0, "Virtual CPUs, 1 to 64 (default: the node's)", 0},
    {"mem-gib", KEY_MEM, "N", 0, "Memory in GiB, 1 to 512 (default: the node's)", 0},
    {"disk-gib", KEY_DISK, "N", 0, "Disk in GiB, 1 to 4096 (default: the node's)", 0},
    {"ttl", KEY_TTL, "SECONDS", 0, "End the lease by itself after that long (default: the node's)", 0},
    HELP_JSON,
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .doc = "Take a lease and wait until its desktop can be used."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth up\n"
           "  berth up --vcpu 4 --mem-gib 8 --ttl 3600\n"
           "  berth up --json | jq -r .id\n",
};

/* The create and what became of it. */
struct create {
    struct client *client; /* borrowed; of the worker alone */
    json_t *body;          /* borrowed */
    const atomic_bool *cancel;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool done;
    json_t *lease; /* owned; NULL when it failed */
    struct error err;
};

/* Set by SIGINT and SIGTERM. A lock-free atomic may be stored to in a handler (C17 7.14.1.1). */
static atomic_bool interrupted;

static void interrupt(int number)
{
    (void)number;
    atomic_store(&interrupted, true);
}

static void *work(void *argument)
{
    struct create *create = argument;
    struct error err = ERROR_INIT;
    struct client_request request = {.method = "POST",
                                     .path = "/v1/leases",
                                     .body = create->body,
                                     .timeout_ms = CLIENT_NO_TIMEOUT,
                                     .cancel = create->cancel};
    json_t *lease = client_ask(create->client, &request, &err);
    LOCK_SCOPE(&create->mutex);
    create->lease = lease;
    create->err = err;
    create->done = true;
    pthread_cond_signal(&create->changed);
    return NULL;
}

/* Waits for the create, or for the time to ask again. True when the create has its answer. */
static bool wait_a_moment(struct create *create)
{
    LOCK_SCOPE(&create->mutex);
    int64_t deadline_ms = clock_deadline(ASK_EVERY_MS);
    while (!create->done && sync_cond_wait(&create->changed, &create->mutex, deadline_ms))
        continue;
    return create->done;
}

/* Shows how far the guest is until the create has its answer. */
static void watch(struct create *create, const char *url)
{
    CLEANUP_CLIENT struct client *observer = client_new(url, NULL);
    struct wait_line line = {.started_ms = clock_monotonic_ms()};
    struct client_request request = {.method = "GET", .path = "/v1/node", .timeout_ms = ASK_TIMEOUT_MS};
    while (!wait_a_moment(create)) {
        struct error ignored = ERROR_INIT; /* the create itself tells what is wrong */
        CLEANUP_JSON json_t *node =
            atomic_load(&interrupted) ? NULL : client_ask(observer, &request, &ignored);
        if (node)
            wait_line_show(&line, node, clock_monotonic_ms());
    }
    terminal_update(NULL);
}

static json_t *create_lease(struct session *session, json_t *body, struct error *err)
{
    struct create create = {.client = session->client,
                            .body = body,
                            .cancel = &interrupted,
                            .mutex = PTHREAD_MUTEX_INITIALIZER,
                            .err = ERROR_INIT};
    struct sigaction action = {.sa_handler = interrupt}, before_int, before_term;
    sync_cond_init(&create.changed);
    sigaction(SIGINT, &action, &before_int);
    sigaction(SIGTERM, &action, &before_term);
    pthread_t thread;
    int started = sync_thread_start(&thread, "create", work, &create, err);
    if (started == 0) {
        watch(&create, session->url);
        pthread_join(thread, NULL);
        if (!create.lease)
            *err = create.err;
    }
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    pthread_cond_destroy(&create.changed);
    return create.lease;
}

static json_t *body_of(const struct arguments *arguments)
{
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"vcpu", arguments->vcpu},
        {"mem_gib", arguments->mem_gib},
        {"disk_gib", arguments->disk_gib},
        {"ttl_seconds", arguments->ttl_seconds},
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

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {.os = "linux"};
    command_parse(command, argc, argv, &arguments);
    if (strcmp(arguments.os, "linux") != 0) {
        error_set(&err, ERROR_OS_REFUSED, "%s guests are not offered: a node leases Linux desktops alone",
                  strcmp(arguments.os, "macos") == 0 ? "macOS" : "Windows");
        return terminal_fail(&err);
    }
    CLEANUP_SESSION struct session *session = session_open(arguments.url, SESSION_TOKEN, &err);
    if (!session)
        return terminal_fail(&err);
    int64_t started_ms = clock_monotonic_ms();
    CLEANUP_JSON json_t *body = body_of(&arguments);
    CLEANUP_JSON json_t *lease = create_lease(session, body, &err);
    if (!lease && atomic_load(&interrupted)) {
        terminal_say("berth: interrupted; the lease may still come up: see it with berth status, end it with "
                     "berth end");
        return EXIT_REFUSED;
    }
    if (!lease)
        return terminal_fail(&err);
    terminal_say("live after %.1f s", (double)(clock_monotonic_ms() - started_ms) / 1000);
    if (arguments.json)
        terminal_document(lease);
    else
        documents_print_lease(lease);
    tell_next(arguments.url);
    return EXIT_DONE;
}

const struct command command_up = {NULL, "up", "Take a lease and wait until it is usable", &usage, run};
