/* berth status: the node and its live leases. */
#include "base/document.h"
#include "command.h"
#include "documents.h"

static int run_status(struct session *session, const void *arguments, struct error *err)
{
    const struct usage_common *given = arguments;
    CLEANUP_JSON json_t *node = session_ask(session, "GET", "/v1/node", err);
    if (!node)
        return -1;
    if (!json_is_string(json_object_get(node, "protocol")))
        return error_set(err, ERROR_INTERNAL, "what answers at %s is not a Berthos node", session->url);
    CLEANUP_JSON json_t *leases =
        session->token ? session_ask(session, "GET", "/v1/leases", err) : json_null();
    if (!leases && given->json)
        return -1;
    if (given->json) {
        CLEANUP_JSON json_t *both = json_pack("{s:O, s:O}", "node", node, "leases", leases);
        return terminal_document(both);
    }
    documents_print_node(node, session->url);
    if (!leases)
        return -1;
    if (json_array_size(leases) > 0)
        fputs("\n", stdout);
    documents_print_leases(leases);
    if (!session->token)
        terminal_say("not paired, so the leases are not shown; run: berth pair");
    return EXIT_DONE;
}

const struct command command_status = {
    NULL,
    "status",
    "Show the node and its live leases",
    .usage = {.takes = TAKES_URL | TAKES_JSON,
              .help =
                  "Print what the node is doing, what is prepared in each berth and which leases are live. "
                  "The leases are shown to those who are paired.",
              .examples = "berth status\n"
                          "berth status --json | jq .leases"},
    .need = SESSION_NODE,
    .run = run_status,
};
