/* berth park and berth unpark: whether the node takes new leases. One file: they differ in a word. */
#include "base/document.h"
#include "command.h"

static int ask_node(struct session *session, const char *path, const char *said, struct error *err)
{
    CLEANUP_JSON json_t *answer = session_ask(session, "POST", path, err);
    if (!answer)
        return -1;
    terminal_say("%s", said);
    return EXIT_DONE;
}

static int run_park(struct session *session, const void *arguments, struct error *err)
{
    (void)arguments;
    return ask_node(session, "/v1/park", "parked: the node takes new leases", err);
}

static int run_unpark(struct session *session, const void *arguments, struct error *err)
{
    (void)arguments;
    return ask_node(session, "/v1/unpark", "unparked: the node takes no new lease until berth park", err);
}

const struct command command_park = {
    NULL,
    "park",
    "Take new leases",
    .usage = {.takes = TAKES_URL,
              .help = "Let the node take new leases. Refused while its doctor's report is red.",
              .examples = "berth park"},
    .need = SESSION_TOKEN,
    .run = run_park,
};

const struct command command_unpark = {
    NULL,
    "unpark",
    "Take no new leases",
    .usage = {.takes = TAKES_URL,
              .help = "Let the node take no new leases. Refused while a lease is live: end it first.",
              .examples = "berth unpark"},
    .need = SESSION_TOKEN,
    .run = run_unpark,
};
