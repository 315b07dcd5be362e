/* berth end: ends a lease and shows its receipt. */
#include "base/text.h"
#include "command.h"
#include "documents.h"

static int run_end(struct session *session, const void *arguments, struct error *err)
{
    const struct usage_common *given = arguments;
    CLEANUP_FREE char *path = text_format("/v1/leases/%s", session->lease);
    return session_show(session, "DELETE", path, given->json, documents_print_receipt, err);
}

const struct command command_end = {
    NULL,
    "end",
    "End a lease and print its receipt",
    .usage = {.takes = TAKES_URL | TAKES_JSON | TAKES_LEASE,
              .help = "End a lease: its guest is destroyed, its disk deleted. Prints the receipt. "
                      "Without LEASE it is the only live one. "
                      "Ending a lease again prints the same receipt.",
              .examples = "berth end\n"
                          "berth end --json"},
    .need = SESSION_LEASE,
    .run = run_end,
};
