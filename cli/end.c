/* berth end: ends a lease and shows its receipt. */
#include "base/text.h"
#include "command.h"
#include "lease_arguments.h"
#include "session.h"

static const struct argp_option options[] = {HELP_URL, HELP_JSON, {0}};

static const struct argp usage = {
    .options = options,
    .parser = lease_arguments_parse,
    .args_doc = "[LEASE]",
    .doc = "End a lease: its guest is destroyed, its disk deleted. Prints the receipt. Without LEASE it is "
           "the only "
           "live one. Ending a lease again prints the same receipt."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth end\n"
           "  berth end --json\n",
};

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct lease_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.url, SESSION_TOKEN, &err);
    CLEANUP_FREE char *lease = session ? session_lease(session, arguments.lease, &err) : NULL;
    if (!lease)
        return terminal_fail(&err);
    CLEANUP_FREE char *path = text_format("/v1/leases/%s", lease);
    return session_print_receipt(session, "DELETE", path, arguments.json);
}

const struct command command_end = {NULL, "end", "End a lease and print its receipt", &usage, run};
