/* berth leases: the live leases, and with --all those that have ended. */
#include <stdio.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "documents.h"
#include "lease_arguments.h"
#include "session.h"

enum { KEY_ALL = 0x200, KEY_LIMIT, LIMIT_MAX = 10000, BYTES_A_LEASE = 2048 };

struct arguments {
    struct lease_arguments common;
    bool all;
    int64_t limit;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_ALL:
        arguments->all = true;
        return 0;
    case KEY_LIMIT:
        if (!text_to_integer(arg, 1, LIMIT_MAX, &arguments->limit))
            argp_error(state, "--limit takes a whole number from 1 to %d", LIMIT_MAX);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is too much", arg);
        return ARGP_ERR_UNKNOWN;
    default:
        return lease_arguments_option(key, arg, &arguments->common);
    }
}

static const struct argp_option options[] = {
    {"all", KEY_ALL, NULL, 0, "Those that have ended too, the newest first", 0},
    {"limit", KEY_LIMIT, "N", 0, "With --all, at most so many (default: 100)", 0},
    HELP_URL,
    HELP_JSON,
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .doc = "List the leases that this token reaches: the live ones, or with --all every one the node has a "
           "record of. Receipts are never deleted: see berth receipt."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth leases\n"
           "  berth leases --all --json | jq -r '.[].id'\n",
};

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {.limit = 100};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.common.url, SESSION_TOKEN, &err);
    if (!session)
        return terminal_fail(&err);
    CLEANUP_FREE char *path = arguments.all
                                  ? text_format("/v1/leases?all=true&limit=%lld", (long long)arguments.limit)
                                  : text_copy("/v1/leases");
    struct client_request request = {.method = "GET",
                                     .path = path,
                                     .timeout_ms = CLIENT_TIMEOUT_MS,
                                     .max_bytes = (size_t)arguments.limit * BYTES_A_LEASE + (1 << 20)};
    CLEANUP_JSON json_t *leases = client_ask(session->client, &request, &err);
    if (!leases)
        return terminal_fail(&err);
    if (arguments.common.json)
        return terminal_document(leases);
    size_t i;
    const json_t *lease;
    json_array_foreach(leases, i, lease)
    {
        if (i > 0)
            fputs("\n", stdout);
        documents_print_lease(lease);
    }
    if (json_array_size(leases) == 0)
        terminal_say(arguments.all ? "no lease yet" : "no lease is live; take one with: berth up");
    return EXIT_DONE;
}

const struct command command_leases = {NULL, "leases", "List leases, live or all", &usage, run};
