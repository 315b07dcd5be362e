/* berth node up: runs the node in the foreground. */
#include "base/loopback.h"
#include "command.h"
#include "config/config.h"
#include "node.h"

struct node_up_arguments {
    const char *bind;
    int64_t port;                     /* -1 when not given */
    const enum config_intent *intent; /* NULL when not given. Static */
    bool end_leases;
};

static const struct usage_row rows[] = {
    {"bind", "ADDRESS", "Where to listen: of 127.0.0.0/8, or ::1 (default: as node.toml says)", usage_text,
     AT(node_up, bind)},
    {"port", "PORT", "0 lets the kernel choose (default: as node.toml says)", usage_number, AT(node_up, port),
     .max = 65535, .fallback = -1},
    {"intent", "INTENT", "private or public (default: as node.toml says)", usage_intent, AT(node_up, intent)},
    {"end-leases-on-stop", NULL, "At a stop end the leases (default: pause their guests for the next start)",
     usage_flag, AT(node_up, end_leases)},
    {0},
};

static int run_node_up(struct session *none, const void *arguments, struct error *err)
{
    (void)none;
    const struct node_up_arguments *given = arguments;
    /* Before anything else: no home, no configuration and no doctor for a node that would be open to others.
     */
    if (given->bind && !loopback_address(given->bind))
        return error_set(
            err, ERROR_CONFIG,
            "the node listens on loopback alone, and %s is not one of 127.0.0.0/8 or ::1: reach it from "
            "elsewhere through an SSH tunnel",
            given->bind);
    struct node_options node = {
        .bind = given->bind,
        .port = given->port,
        .intent = given->intent,
        .end_leases_on_stop = given->end_leases,
    };
    return node_run(&node, err) < 0 ? -1 : EXIT_DONE;
}

const struct command command_node_up = {
    "node",
    "up",
    "Run the node",
    .usage = {.rows = rows,
              .size = sizeof(struct node_up_arguments),
              .help = "Run the node in the foreground until SIGINT or SIGTERM. "
                      "The first start writes node.toml. "
                      "A host that the doctor refuses is refused here: nothing listens.",
              .exit = " A clean stop is 0.",
              .examples = "berth node up\n"
                          "berth node up --port 0 --intent private"},
    .run = run_node_up,
};
