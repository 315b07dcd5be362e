/* berth node up: runs the node in the foreground. */
#include <errno.h>
#include <stdbool.h>

#include "base/loopback.h"
#include "base/text.h"
#include "command.h"
#include "config/config.h"
#include "node.h"

enum { KEY_BIND = 0x200, KEY_PORT, KEY_INTENT, KEY_END_LEASES };

struct arguments {
    const char *bind;
    int64_t port; /* -1 when not given */
    bool has_intent;
    enum config_intent intent;
    bool end_leases;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_BIND:
        arguments->bind = arg;
        return 0;
    case KEY_PORT:
        if (!text_to_integer(arg, 0, 65535, &arguments->port))
            argp_error(state, "--port is a whole number from 0 to 65535, not \"%s\"", arg);
        return 0;
    case KEY_INTENT:
        if (!config_intent_from(arg, &arguments->intent))
            argp_error(state, "--intent is private or public, not \"%s\"", arg);
        arguments->has_intent = true;
        return 0;
    case KEY_END_LEASES:
        arguments->end_leases = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is too much", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"bind", KEY_BIND, "ADDRESS", 0, "Where to listen: of 127.0.0.0/8, or ::1 (default: as node.toml says)",
     0},
    {"port", KEY_PORT, "PORT", 0, "0 lets the kernel choose (default: as node.toml says)", 0},
    {"intent", KEY_INTENT, "INTENT", 0, "private or public (default: as node.toml says)", 0},
    {"end-leases-on-stop", KEY_END_LEASES, NULL, 0,
     "At a stop end the leases (default: pause their guests for the next start)", 0},
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .doc = "Run the node in the foreground until SIGINT or SIGTERM. The first start writes node.toml. A host "
           "that "
           "the doctor refuses is refused here: nothing listens."
           "\v" HELP_EXIT " A clean stop is 0.\n\n"
           "Examples:\n"
           "  berth node up\n"
           "  berth node up --port 0 --intent private\n",
};

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {.port = -1};
    command_parse(command, argc, argv, &arguments);
    /* Before anything else: no home, no configuration and no doctor for a node that would be open to others.
     */
    if (arguments.bind && !loopback_address(arguments.bind)) {
        error_set(
            &err, ERROR_CONFIG,
            "the node listens on loopback alone, and %s is not one of 127.0.0.0/8 or ::1: reach it from "
            "elsewhere through an SSH tunnel",
            arguments.bind);
        return terminal_fail(&err);
    }
    struct node_options node = {
        .bind = arguments.bind,
        .port = arguments.port,
        .intent = arguments.has_intent ? &arguments.intent : NULL,
        .end_leases_on_stop = arguments.end_leases,
    };
    return node_run(&node, &err) < 0 ? terminal_fail(&err) : EXIT_DONE;
}

const struct command command_node_up = {"node", "up", "Run the node", &usage, run};
