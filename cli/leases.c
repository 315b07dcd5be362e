/* berth leases: the live leases, and with --all those that have ended. */
#include <inttypes.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "documents.h"

struct leases_arguments {
    struct usage_common common;
    bool all;
    int64_t limit;
};

static int read_limit(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    struct error ignored = ERROR_INIT;
    if (usage_number(row, text, place, &ignored) == 0)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "--limit takes a whole number from %" PRId64 " to %" PRId64,
                     row->min, row->max);
}

static const struct usage_row rows[] = {
    {"all", NULL, "Those that have ended too, the newest first", usage_flag, AT(leases, all)},
    {"limit", "N", "With --all, at most so many (default: 100)", read_limit, AT(leases, limit), .min = 1,
     .max = 10000, .fallback = 100},
    {0},
};

static int run_leases(struct session *session, const void *arguments, struct error *err)
{
    const struct leases_arguments *given = arguments;
    CLEANUP_FREE char *path = given->all ? text_format("/v1/leases?all=true&limit=%" PRId64, given->limit)
                                         : text_copy("/v1/leases");
    CLEANUP_JSON json_t *leases = session_ask(session, "GET", path, err);
    if (!leases)
        return -1;
    if (given->common.json)
        return terminal_document(leases);
    documents_print_leases(leases);
    if (json_array_size(leases) == 0)
        terminal_say(given->all ? "no lease yet" : "no lease is live; take one with: berth up");
    return EXIT_DONE;
}

const struct command command_leases = {
    NULL,
    "leases",
    "List leases, live or all",
    .usage = {.takes = TAKES_URL | TAKES_JSON,
              .rows = rows,
              .size = sizeof(struct leases_arguments),
              .help = "List the leases that this token reaches: "
                      "the live ones, or with --all every one the node has a record of. "
                      "Receipts are never deleted: see berth receipt.",
              .examples = "berth leases\n"
                          "berth leases --all --json | jq -r '.[].id'"},
    .need = SESSION_TOKEN,
    .run = run_leases,
};
