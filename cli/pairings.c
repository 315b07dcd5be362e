/* berth pairings and berth unpair: who may use the node, and who may no longer. */
#include <stdio.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "lease_arguments.h"
#include "session.h"

enum { SHOWN_DIGITS = 12 };

static const struct argp_option list_options[] = {HELP_URL, HELP_JSON, {0}};

static const struct argp list_usage = {
    .options = list_options,
    .parser = lease_arguments_parse_none,
    .doc = "List who may use the node: the name of each token (not the token), what it may do, when it was "
           "made. "
           "Needs an operator's token."
           "\v" HELP_EXIT "\n\n"
           "Example:\n"
           "  berth pairings\n",
};

static void print_pairing(const json_t *pairing)
{
    const char *id = json_string_value(json_object_get(pairing, "id"));
    const char *created = json_string_value(json_object_get(pairing, "created_at"));
    const json_t *capabilities = json_object_get(pairing, "capabilities");
    bool own = json_is_true(json_object_get(pairing, "this"));
    CLEANUP_FREE char *words = text_copy("");
    size_t i;
    const json_t *word;
    json_array_foreach(capabilities, i, word)
    {
        CLEANUP_FREE char *before = words;
        words = text_format("%s%s%s", before, i ? ", " : "",
                            json_is_string(word) ? json_string_value(word) : "?");
    }
    CLEANUP_FREE char *row =
        text_format("%s, made %s%s", words, created ? created : "?", own ? " (this one)" : "");
    CLEANUP_FREE char *label = text_format("%.*s", SHOWN_DIGITS, id ? id : "?");
    terminal_row(label, row);
}

static int run_list(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct lease_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.url, SESSION_TOKEN, &err);
    if (!session)
        return terminal_fail(&err);
    struct client_request request = {
        .method = "GET", .path = "/v1/pairings", .timeout_ms = CLIENT_TIMEOUT_MS, .max_bytes = 4 << 20};
    CLEANUP_JSON json_t *pairings = client_ask(session->client, &request, &err);
    if (!pairings)
        return terminal_fail(&err);
    if (arguments.json)
        return terminal_document(pairings);
    size_t i;
    const json_t *pairing;
    json_array_foreach(pairings, i, pairing) print_pairing(pairing);
    return EXIT_DONE;
}

struct unpair_arguments {
    struct lease_arguments common;
    const char *id;
};

static error_t parse_unpair(int key, char *arg, struct argp_state *state)
{
    struct unpair_arguments *arguments = state->input;
    if (key == ARGP_KEY_NO_ARGS)
        argp_error(state, "the id of the pairing is missing; berth pairings lists them");
    if (key != ARGP_KEY_ARG)
        return lease_arguments_option(key, arg, &arguments->common);
    if (arguments->id || !text_is_hex(arg, strlen(arg)))
        argp_error(state, "\"%s\" is not the id of one pairing", arg);
    arguments->id = arg;
    return 0;
}

static const struct argp_option unpair_options[] = {HELP_URL, {0}};

static const struct argp unpair_usage = {
    .options = unpair_options,
    .parser = parse_unpair,
    .args_doc = "ID",
    .doc = "Revoke a pairing at once: its token and the views opened with it are dead. Its leases go on. ID "
           "is the "
           "beginning of what berth pairings shows, 8 digits or more. Needs an operator's token."
           "\v" HELP_EXIT "\n\n"
           "Example:\n"
           "  berth unpair 0a1b2c3d4e5f\n",
};

static int run_unpair(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct unpair_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.common.url, SESSION_TOKEN, &err);
    if (!session)
        return terminal_fail(&err);
    CLEANUP_FREE char *path = text_format("/v1/pairings/%s", arguments.id);
    struct client_request request = {.method = "DELETE", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *answer = client_ask(session->client, &request, &err);
    if (!answer)
        return terminal_fail(&err);
    terminal_say("revoked; whoever used it must pair again");
    return EXIT_DONE;
}

const struct command command_pairings = {NULL, "pairings", "List who may use the node", &list_usage,
                                         run_list};
const struct command command_unpair = {NULL, "unpair", "Revoke a pairing", &unpair_usage, run_unpair};
