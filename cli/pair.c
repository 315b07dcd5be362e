/* berth pair: exchanges the node's code for a token and keeps it in client.toml. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "config/client.h"
#include "config/config.h"
#include "config/home.h"
#include "config/url.h"
#include "session.h"

enum { KEY_CODE = 0x200 };

struct arguments {
    const char *url, *code;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case OPTION_URL:
        arguments->url = arg;
        return 0;
    case KEY_CODE:
        arguments->code = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is too much; the code goes with --code", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"url", OPTION_URL, "URL", 0,
     "The node, as http://127.0.0.1:7432 (default: as node.toml of this host says)", 0},
    {"code", KEY_CODE, "CODE", 0, "The code that the node shows (default: ask the node for it)", 0},
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .doc = "Pair with a node: exchange its code for a token, which goes to client.toml and is never shown."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth pair\n"
           "  berth pair --url http://127.0.0.1:7433 --code ABCD-2345\n",
};

static char *ask_for_code(struct client *client, struct error *err)
{
    struct client_request request = {.method = "GET", .path = "/v1/pairing", .timeout_ms = CLIENT_TIMEOUT_MS};
    const char *code;
    CLEANUP_JSON json_t *document = client_ask(client, &request, err);
    if (!document || document_string(document, "code", &code, err) < 0)
        return NULL;
    return text_copy(code);
}

static char *exchange(struct client *client, const char *code, struct error *err)
{
    CLEANUP_JSON json_t *body = json_pack("{s:s}", "code", code);
    if (!body) {
        error_set(err, ERROR_BAD_REQUEST, "the code is not valid UTF-8");
        return NULL;
    }
    struct client_request request = {
        .method = "POST", .path = "/v1/pair", .body = body, .timeout_ms = CLIENT_TIMEOUT_MS};
    const char *token;
    CLEANUP_JSON json_t *document = client_ask(client, &request, err);
    if (!document || document_string(document, "token", &token, err) < 0)
        return NULL;
    return text_copy(token);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);

    /* The home comes first: a code is good once only, so nothing may fail for a known reason after it. */
    CLEANUP_FREE char *home = config_home();
    if (config_make_home(home, &err) < 0)
        return terminal_fail(&err);
    CLEANUP_FREE char *url = arguments.url ? url_read(arguments.url, &err) : session_own_url(home, &err);
    if (!url)
        return terminal_fail(&err);
    CLEANUP_CLIENT struct client *client = client_new(url, NULL);
    CLEANUP_FREE char *code = arguments.code ? text_copy(arguments.code) : ask_for_code(client, &err);
    CLEANUP_FREE char *token = code ? exchange(client, code, &err) : NULL;
    struct client_config paired = {.url = url, .token = token};
    if (!token || client_config_save(home, &paired, &err) < 0)
        return terminal_fail(&err);
    terminal_say("paired with %s; the token is in %s/client.toml", url, home);
    terminal_say("next: berth up");
    return EXIT_DONE;
}

const struct command command_pair = {NULL, "pair", "Pair with a node", &usage, run};
