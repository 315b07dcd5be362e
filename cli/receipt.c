/* berth receipt: the receipt of a lease that has ended. */
#include "base/text.h"
#include "command.h"
#include "lease_arguments.h"
#include "session.h"

static const struct argp_option options[] = {HELP_URL, HELP_JSON, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_NO_ARGS)
        argp_error(state, "the id of the lease is missing");
    return lease_arguments_parse(key, arg, state);
}

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .args_doc = "ID",
    .doc = "Print the receipt of a lease that has ended."
           "\v" HELP_EXIT "\n\n"
           "Example:\n"
           "  berth receipt l_0123456789abcdef0123456789abcdef\n",
};

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct lease_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.url, SESSION_TOKEN, &err);
    if (!session)
        return terminal_fail(&err);
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/receipt", arguments.lease);
    return session_print_receipt(session, "GET", path, arguments.json);
}

const struct command command_receipt = {NULL, "receipt", "Print the receipt of an ended lease", &usage, run};
