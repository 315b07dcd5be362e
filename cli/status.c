/* berth status: the node and its live leases. */
#include <stdio.h>

#include "base/document.h"
#include "command.h"
#include "documents.h"
#include "lease_arguments.h"
#include "session.h"

static const struct argp_option options[] = {HELP_URL, HELP_JSON, {0}};

static const struct argp usage = {
    .options = options,
    .parser = lease_arguments_parse_none,
    .doc =
        "Print what the node is doing, what is prepared in each berth and which leases are live. The leases "
        "are shown to those who are paired."
        "\v" HELP_EXIT "\n\n"
        "Examples:\n"
        "  berth status\n"
        "  berth status --json | jq .leases\n",
};

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct lease_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.url, SESSION_ANYBODY, &err);
    if (!session)
        return terminal_fail(&err);
    struct client_request request = {.method = "GET", .path = "/v1/node", .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *node = client_ask(session->client, &request, &err);
    if (!node)
        return terminal_fail(&err);
    if (!json_is_string(json_object_get(node, "protocol"))) {
        error_set(&err, ERROR_INTERNAL, "what answers at %s is not a Berthos node", session->url);
        return terminal_fail(&err);
    }
    request.path = "/v1/leases";
    CLEANUP_JSON json_t *leases = session->token ? client_ask(session->client, &request, &err) : json_null();
    if (!leases && arguments.json)
        return terminal_fail(&err);
    if (arguments.json) {
        CLEANUP_JSON json_t *both = json_pack("{s:O, s:O}", "node", node, "leases", leases);
        return terminal_document(both);
    }
    documents_print_node(node, session->url);
    if (!leases)
        return terminal_fail(&err);
    size_t i;
    const json_t *lease;
    json_array_foreach(leases, i, lease)
    {
        fputs("\n", stdout);
        documents_print_lease(lease);
    }
    if (!session->token)
        terminal_say("not paired, so the leases are not shown; run: berth pair");
    return EXIT_DONE;
}

const struct command command_status = {NULL, "status", "Show the node and its live leases", &usage, run};
