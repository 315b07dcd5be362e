/* berth pairings and berth unpair: who may use the node, and who may no longer. */
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "documents.h"

enum { SHOWN_DIGITS = 12 };

static void print_pairing(const json_t *pairing)
{
    const char *id = json_string_value(json_object_get(pairing, "id"));
    const char *created = json_string_value(json_object_get(pairing, "created_at"));
    bool own = json_is_true(json_object_get(pairing, "this"));
    bool unused = json_is_false(json_object_get(pairing, "used"));
    CLEANUP_FREE char *may = documents_grant(pairing);
    CLEANUP_FREE char *label = text_format("%.*s", SHOWN_DIGITS, id ? id : "?");
    terminal_row(label, "%s, made %s%s%s", may, created ? created : "?", unused ? ", never used" : "",
                 own ? " (this one)" : "");
}

static void print_pairings(const json_t *pairings)
{
    for (size_t i = 0; i < json_array_size(pairings); i++)
        print_pairing(json_array_get(pairings, i));
}

static int run_pairings(struct session *session, const void *arguments, struct error *err)
{
    const struct usage_common *given = arguments;
    return session_show(session, "GET", "/v1/pairings", given->json, print_pairings, err);
}

const struct command command_pairings = {
    NULL,
    "pairings",
    "List who may use the node",
    .usage = {.takes = TAKES_URL | TAKES_JSON,
              .help = "List who may use the node: "
                      "the name of each token (not the token), what it may do, when it was made. "
                      "One that is not used within a day of it is forgotten. "
                      "Needs an operator's token.",
              .examples = "berth pairings"},
    .need = SESSION_TOKEN,
    .run = run_pairings,
};

struct unpair_arguments {
    struct usage_common common;
    const char *id;
};

static int read_id(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    if (!text_is_hex(text, strlen(text)))
        return error_set(err, ERROR_BAD_REQUEST, "\"%s\" is not the id of one pairing", text);
    return usage_text(row, text, place, err);
}

static const struct usage_row rows[] = {
    {NULL, "ID", "the id of the pairing is missing; berth pairings lists them", read_id, AT(unpair, id)},
    {0},
};

static int run_unpair(struct session *session, const void *arguments, struct error *err)
{
    const struct unpair_arguments *given = arguments;
    CLEANUP_FREE char *path = text_format("/v1/pairings/%s", given->id);
    CLEANUP_JSON json_t *answer = session_ask(session, "DELETE", path, err);
    if (!answer)
        return -1;
    terminal_say("revoked; whoever used it must pair again");
    return EXIT_DONE;
}

const struct command command_unpair = {
    NULL,
    "unpair",
    "Revoke a pairing",
    .usage = {.takes = TAKES_URL,
              .rows = rows,
              .size = sizeof(struct unpair_arguments),
              .surplus = "is not the id of one pairing",
              .help = "Revoke a pairing at once: its token and the views opened with it are dead. "
                      "Its leases go on. "
                      "ID is the beginning of what berth pairings shows, 8 digits or more. "
                      "Needs an operator's token.",
              .examples = "berth unpair 0a1b2c3d4e5f"},
    .need = SESSION_TOKEN,
    .run = run_unpair,
};
