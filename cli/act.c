/* berth act: does something in the guest as a person at its screen would. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "lease_arguments.h"
#include "protocol/action.h"
#include "session.h"

enum { INPUT_MAX_BYTES = 1024 * 1024 };

struct arguments {
    struct lease_arguments lease;
    const char *action;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->action)
            lease_arguments_id(arg, state, &arguments->lease);
        else
            arguments->action = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "the action is missing");
        return EINVAL;
    default:
        return lease_arguments_option(key, arg, &arguments->lease);
    }
}

static const struct argp_option options[] = {
    HELP_URL,
    {"json", OPTION_JSON, NULL, 0, "The answer is JSON with or without it", 0},
    {0},
};

/* The table of actions, a line for each op: what can be asked for stands where one looks first. */
static char *list_actions(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    size_t count;
    const struct action_op *ops = action_ops(&count);
    char *list = text_copy("Actions and their fields (those with ? may be left out):\n");
    for (size_t i = 0; i < count; i++) {
        CLEANUP_FREE char *before = list;
        list = text_format("%s  %s", before, ops[i].name);
        for (size_t j = 0; j < ops[i].field_count; j++) {
            CLEANUP_FREE char *shorter = list;
            list =
                text_format("%s %s%s", shorter, ops[i].fields[j].name, ops[i].fields[j].optional ? "?" : "");
        }
        CLEANUP_FREE char *line = list;
        list = text_format("%s\n", line);
    }
    CLEANUP_FREE char *all = list;
    return text_format("%s\n%s", all, text);
}

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .help_filter = list_actions,
    .args_doc = "JSON [LEASE]",
    .doc = "Do an action in the guest, or {\"actions\": [...]} one after the other until one fails. JSON may "
           "be -, then "
           "it is read from stdin. Without LEASE it is the only live one."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth act '{\"op\": \"click\", \"x\": 640, \"y\": 400}'\n"
           "  berth act '{\"op\": \"type\", \"text\": \"hello\"}'\n"
           "  berth act '{\"op\": \"key\", \"keys\": [\"ctrl+l\", \"Return\"]}'\n"
           "  berth act - < actions.json\n",
};

/* Reads stdin, bounded. *Owned*, or NULL. */
static char *read_input(size_t *size, struct error *err)
{
    CLEANUP_FREE char *text = malloc(INPUT_MAX_BYTES + 1);
    if (!text)
        abort();
    *size = fread(text, 1, INPUT_MAX_BYTES + 1, stdin);
    if (ferror(stdin)) {
        error_set_errno(err, ERROR_INTERNAL, errno, "cannot read stdin");
        return NULL;
    }
    if (*size > INPUT_MAX_BYTES) {
        error_set(err, ERROR_TOO_LARGE, "what stdin gives is larger than the %d bytes that a node takes",
                  INPUT_MAX_BYTES);
        return NULL;
    }
    return TAKE(text);
}

static json_t *read_action(const char *argument, struct error *err)
{
    size_t size = strlen(argument);
    CLEANUP_FREE char *text = strcmp(argument, "-") == 0 ? read_input(&size, err) : text_copy(argument);
    json_t *action = text ? document_parse(text, size, err) : NULL;
    if (text && !action)
        error_prefix(err, "the action");
    return action;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_JSON json_t *action = read_action(arguments.action, &err);
    if (!action) {
        terminal_fail(&err);
        return EXIT_USAGE;
    }
    CLEANUP_SESSION struct session *session = session_open(arguments.lease.url, SESSION_TOKEN, &err);
    CLEANUP_FREE char *lease = session ? session_lease(session, arguments.lease.lease, &err) : NULL;
    if (!lease)
        return terminal_fail(&err);
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/actions", lease);
    /* Long texts, holds and waits take their time; the node bounds each. */
    struct client_request request = {
        .method = "POST", .path = path, .body = action, .timeout_ms = CLIENT_NO_TIMEOUT};
    CLEANUP_JSON json_t *answer = client_ask(session->client, &request, &err);
    if (!answer)
        return terminal_fail(&err);
    /* Always the document: what an action answers (a position, a changed region) is for it to say. */
    return terminal_document(answer);
}

const struct command command_act = {NULL, "act", "Click, type and press keys in the guest", &usage, run};
