/* berth pair: exchanges the node's code for a token and keeps it in client.toml. */
#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "config/client.h"
#include "config/config.h"
#include "config/home.h"
#include "config/url.h"

struct pair_arguments {
    const char *url, *code;
};

static const struct usage_row rows[] = {
    {"url", "URL", "The node, as http://127.0.0.1:7432 (default: as node.toml of this host says)", usage_text,
     AT(pair, url)},
    {"code", "CODE", "The code that the node shows (default: ask the node for it)", usage_text,
     AT(pair, code)},
    {0},
};

/* The text at a key of what the node answers. *Owned*. */
static char *ask_for(struct client *client, const struct client_request *request, const char *key,
                     struct error *err)
{
    const char *text;
    CLEANUP_JSON json_t *document = client_ask(client, request, err);
    if (!document || document_string(document, key, &text, err) < 0)
        return NULL;
    return text_copy(text);
}

static char *exchange_code(struct client *client, const char *code, struct error *err)
{
    CLEANUP_JSON json_t *body = json_pack("{s:s}", "code", code);
    if (!body) {
        error_set(err, ERROR_BAD_REQUEST, "the code is not valid UTF-8");
        return NULL;
    }
    struct client_request request = {
        .method = "POST", .path = "/v1/pair", .body = body, .timeout_ms = CLIENT_TIMEOUT_MS};
    return ask_for(client, &request, "token", err);
}

static int run_pair(struct session *none, const void *arguments, struct error *err)
{
    (void)none;
    const struct pair_arguments *given = arguments;
    /* The home comes first: a code is good once only, so nothing may fail for a known reason after it. */
    CLEANUP_FREE char *home = config_home();
    if (config_make_home(home, err) < 0)
        return -1;
    CLEANUP_FREE char *url = given->url ? url_read(given->url, err) : session_own_url(home, err);
    if (!url)
        return -1;
    CLEANUP_CLIENT struct client *client = client_new(url, NULL);
    struct client_request pairing = {.method = "GET", .path = "/v1/pairing", .timeout_ms = CLIENT_TIMEOUT_MS};
    CLEANUP_FREE char *code = given->code ? text_copy(given->code) : ask_for(client, &pairing, "code", err);
    CLEANUP_FREE char *token = code ? exchange_code(client, code, err) : NULL;
    struct client_config paired = {.url = url, .token = token};
    if (!token || client_config_save(home, &paired, err) < 0)
        return -1;
    terminal_say("paired with %s; the token is in %s/client.toml", url, home);
    terminal_say("next: berth up");
    return EXIT_DONE;
}

const struct command command_pair = {
    NULL,
    "pair",
    "Pair with a node",
    .usage = {.rows = rows,
              .size = sizeof(struct pair_arguments),
              .surplus = "is too much; the code goes with --code",
              .help = "Pair with a node: "
                      "exchange its code for a token, which goes to client.toml and is never shown.",
              .examples = "berth pair\n"
                          "berth pair --url http://127.0.0.1:7433 --code ABCD-2345"},
    .run = run_pair,
};
