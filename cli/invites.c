/* berth invite, berth invites and berth uninvite: codes for others, with what they give fixed beforehand. */
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "documents.h"
#include "pairing/grant.h"
#include "protocol/lease.h"

struct invite_arguments {
    struct usage_common common;
    bool operator_too;
    int64_t ttl_seconds, leases, max_seconds; /* 0 when not given */
};

/* "90", "90s", "10m", "24h". */
static int read_duration(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    static const char units[] = "smh";
    static const int64_t seconds[] = {1, 60, 3600};
    size_t length = strspn(text, "0123456789");
    const char *unit = text[length] ? strchr(units, text[length]) : units;
    CLEANUP_FREE char *digits = text_format("%.*s", (int)length, text);
    int64_t count;
    if (!unit || (text[length] && text[length + 1]) || !text_to_integer(digits, 1, row->max, &count) ||
        count > row->max / seconds[unit - units])
        return error_set(err, ERROR_BAD_REQUEST, "--%s is a time up to 24h, as 90s, 10m or 2h, not \"%s\"",
                         row->name, text);
    *(int64_t *)place = count * seconds[unit - units];
    return 0;
}

static const struct usage_row rows[] = {
    {"operator", NULL, "Let it do all that you may (default: take leases, and reach those)", usage_flag,
     AT(invite, operator_too)},
    {"ttl", "TIME", "How long the code is good, up to 24h (default: 10m)", read_duration,
     AT(invite, ttl_seconds), 1, PAIRING_TTL_MAX_S},
    {"leases", "N", "How many leases it may have live at once (default: as many as fit)", usage_number,
     AT(invite, leases), 1, PAIRING_LEASES_MAX},
    {"max-seconds", "S", "The longest lease that it may take (default: the node's)", usage_number,
     AT(invite, max_seconds), 1, LEASE_MAX_SECONDS},
    {0},
};

static int check_invite(const void *arguments, struct error *err)
{
    const struct invite_arguments *given = arguments;
    if (given->operator_too && (given->leases || given->max_seconds))
        return error_set(err, ERROR_BAD_REQUEST,
                         "an operator has no limits: leave --operator out, or --leases and --max-seconds");
    return 0;
}

/* What a new invite is asked for with. A new reference. */
static json_t *ask_invite(const struct invite_arguments *given)
{
    json_t *body = json_object();
    if (given->operator_too)
        json_object_set_new(body, "capabilities", json_pack("[s, s]", "operator", "lease"));
    if (given->ttl_seconds)
        json_object_set_new(body, "ttl_seconds", json_integer(given->ttl_seconds));
    if (given->leases)
        json_object_set_new(body, "leases", json_integer(given->leases));
    if (given->max_seconds)
        json_object_set_new(body, "max_seconds", json_integer(given->max_seconds));
    return body;
}

static void print_invite(const json_t *invite)
{
    CLEANUP_FREE char *gives = documents_grant(invite);
    terminal_text("invite", json_string_value(json_object_get(invite, "id")));
    terminal_text("code", json_string_value(json_object_get(invite, "code")));
    terminal_text("gives", gives);
    terminal_text("until", json_string_value(json_object_get(invite, "expires_at")));
}

static int run_invite(struct session *session, const void *arguments, struct error *err)
{
    const struct invite_arguments *given = arguments;
    CLEANUP_JSON json_t *body = ask_invite(given);
    struct client_request request = {
        .method = "POST", .path = "/v1/invites", .body = body, .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_JSON json_t *invite = client_ask(session->client, &request, err);
    if (!invite)
        return -1;
    if (given->common.json)
        return terminal_document(invite);
    print_invite(invite);
    terminal_say("whoever has the code enters it, once, at: berth pair");
    return EXIT_DONE;
}

const struct command command_invite = {
    NULL,
    "invite",
    "Make a code for somebody else",
    .usage = {.takes = TAKES_URL | TAKES_JSON,
              .rows = rows,
              .size = sizeof(struct invite_arguments),
              .check = check_invite,
              .help = "Make a code with which somebody else pairs, once. "
                      "It lets them take leases and reach those that they took, and no more. "
                      "It is gone when its time is over or the node stops. "
                      "Needs an operator's token.",
              .examples = "berth invite\n"
                          "berth invite --ttl 2h --leases 1 --max-seconds 3600"},
    .need = SESSION_TOKEN,
    .run = run_invite,
};

static void print_invites(const json_t *invites)
{
    for (size_t i = 0; i < json_array_size(invites); i++) {
        const json_t *invite = json_array_get(invites, i);
        const char *id = json_string_value(json_object_get(invite, "id"));
        const char *expires = json_string_value(json_object_get(invite, "expires_at"));
        CLEANUP_FREE char *gives = documents_grant(invite);
        terminal_row(id ? id : "?", "%s, until %s", gives, expires ? expires : "?");
    }
}

static int run_invites(struct session *session, const void *arguments, struct error *err)
{
    const struct usage_common *given = arguments;
    return session_show(session, "GET", "/v1/invites", given->json, print_invites, err);
}

const struct command command_invites = {
    NULL,
    "invites",
    "List the open invites",
    .usage = {.takes = TAKES_URL | TAKES_JSON,
              .help = "List the open invites: "
                      "the name of each (not its code), what it gives, until when it is good. "
                      "Needs an operator's token.",
              .examples = "berth invites"},
    .need = SESSION_TOKEN,
    .run = run_invites,
};

struct uninvite_arguments {
    struct usage_common common;
    const char *id;
};

static int read_invite_id(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    if (!text[0] || !text_is_hex(text, strlen(text)))
        return error_set(err, ERROR_BAD_REQUEST, "\"%s\" is not the id of one invite", text);
    return usage_text(row, text, place, err);
}

static const struct usage_row uninvite_rows[] = {
    {NULL, "ID", "the id of the invite is missing; berth invites lists them", read_invite_id,
     AT(uninvite, id)},
    {0},
};

static int run_uninvite(struct session *session, const void *arguments, struct error *err)
{
    const struct uninvite_arguments *given = arguments;
    CLEANUP_FREE char *path = text_format("/v1/invites/%s", given->id);
    CLEANUP_JSON json_t *answer = session_ask(session, "DELETE", path, err);
    if (!answer)
        return -1;
    terminal_say("taken back; its code pairs nobody any more");
    return EXIT_DONE;
}

const struct command command_uninvite = {
    NULL,
    "uninvite",
    "Take an invite back",
    .usage = {.takes = TAKES_URL,
              .rows = uninvite_rows,
              .size = sizeof(struct uninvite_arguments),
              .surplus = "is not the id of one invite",
              .help = "Take an invite back: its code pairs nobody any more. "
                      "Who has paired with it already stays paired: see berth unpair. "
                      "Needs an operator's token.",
              .examples = "berth uninvite 0a1b2c3d4e5f"},
    .need = SESSION_TOKEN,
    .run = run_uninvite,
};
