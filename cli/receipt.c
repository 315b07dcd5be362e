/* berth receipt: the receipt of a lease that has ended. */
#include "base/text.h"
#include "command.h"
#include "documents.h"

static const struct usage_row rows[] = {
    {NULL, "ID", "the id of the lease is missing", usage_lease, AT_COMMON(lease)},
    {0},
};

static int run_receipt(struct session *session, const void *arguments, struct error *err)
{
    const struct usage_common *given = arguments;
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/receipt", given->lease);
    return session_show(session, "GET", path, given->json, documents_print_receipt, err);
}

const struct command command_receipt = {
    NULL,
    "receipt",
    "Print the receipt of an ended lease",
    .usage = {.takes = TAKES_URL | TAKES_JSON,
              .rows = rows,
              .help = "Print the receipt of a lease that has ended.",
              .examples = "berth receipt l_0123456789abcdef0123456789abcdef"},
    .need = SESSION_TOKEN,
    .run = run_receipt,
};
