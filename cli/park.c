/* berth park and berth unpark: whether the node takes new leases. One file: they differ in one word. */
#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "lease_arguments.h"
#include "session.h"

static const struct argp_option options[] = {HELP_URL, {0}};

static const struct argp park_usage = {
    .options = options,
    .parser = lease_arguments_parse_none,
    .doc = "Let the node take new leases. Refused while its doctor's report is red."
           "\v" HELP_EXIT "\n\n"
           "Example:\n"
           "  berth park\n",
};

static const struct argp unpark_usage = {
    .options = options,
    .parser = lease_arguments_parse_none,
    .doc = "Let the node take no new leases. Refused while a lease is live: end it first."
           "\v" HELP_EXIT "\n\n"
           "Example:\n"
           "  berth unpark\n",
};

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct lease_arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_SESSION struct session *session = session_open(arguments.url, SESSION_TOKEN, &err);
    if (!session)
        return terminal_fail(&err);
    CLEANUP_FREE char *path = text_format("/v1/%s", command->name);
    struct client_request request = {.method = "POST", .path = path, .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *answer = client_ask(session->client, &request, &err);
    if (!answer)
        return terminal_fail(&err);
    terminal_say(command == &command_park ? "parked: the node takes new leases"
                                          : "unparked: the node takes no new lease until berth park");
    return EXIT_DONE;
}

const struct command command_park = {NULL, "park", "Take new leases", &park_usage, run};
const struct command command_unpark = {NULL, "unpark", "Take no new leases", &unpark_usage, run};
