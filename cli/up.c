/*
 * berth up: takes a lease.
 *
 * The create answers only when the guest is usable, which takes seconds or, under emulation, a minute. So it
 * runs on a thread of its own, while this one asks the node a few times a second how far the guest is.
 */
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
#include "wait_line.h"

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
    {"os", "OS", "The guest's system: linux, the only one there is", read_os,
     .offset = offsetof(struct up_arguments, os)},
    {"vcpu", "N", "Virtual CPUs, 1 to 64 (default: the node's)", usage_number,
     .offset = offsetof(struct up_arguments, vcpu), 1, 64},
    {"mem-gib", "N", "Memory in GiB, 1 to 512 (default: the node's)", usage_number,
     .offset = offsetof(struct up_arguments, mem_gib), 1, 512},
    {"disk-gib", "N", "Disk in GiB, 1 to 4096 (default: the node's)", usage_number,
     .offset = offsetof(struct up_arguments, disk_gib), 1, 4096},
    {"ttl", "SECONDS", "End the lease by itself after that long (default: the node's)", usage_number,
     .offset = offsetof(struct up_arguments, ttl_seconds), 1, 31536000},
    {0},
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

static void note_signal(int number)
{
    (void)number;
    atomic_store(&interrupted, true);
}

static void *send_create(void *argument)
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
static void watch_create(struct create *create, const char *url)
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
    struct sigaction action = {.sa_handler = note_signal}, before_int, before_term;
    sync_cond_init(&create.changed);
    sigaction(SIGINT, &action, &before_int);
    sigaction(SIGTERM, &action, &before_term);
    pthread_t thread;
    int started = sync_thread_start(&thread, "create", send_create, &create, err);
    if (started == 0) {
        watch_create(&create, session->url);
        pthread_join(thread, NULL);
        if (!create.lease)
            *err = create.err;
    }
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    pthread_cond_destroy(&create.changed);
    return create.lease;
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
