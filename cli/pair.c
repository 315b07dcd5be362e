/*
 * berth pair: exchanges a code for a token and keeps it in client.toml. A code is asked for, so that it need
 * not stand in an argument list, which every user of the host can read.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "config/client.h"
#include "config/config.h"
#include "config/home.h"
#include "config/identity.h"
#include "config/url.h"

struct pair_arguments {
    const char *url, *code;
};

static const struct usage_row rows[] = {
    {"url", "URL", "The node, as http://127.0.0.1:7432 (default: as node.toml of this host says)", usage_text,
     AT(pair, url)},
    {"code", "CODE", "The code, or - to read it from stdin (default: ask the node, then you)", usage_text,
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

/* A line of stdin. *Owned*; NULL when there is none, or none that could be a code. */
static char *read_code(struct error *err)
{
    enum { LINE_MAX_BYTES = 64 };
    char line[LINE_MAX_BYTES];
    char *code = NULL;
    if (fgets(line, sizeof line, stdin)) {
        char *begin = line + strspn(line, " \t");
        code = text_format("%.*s", (int)strcspn(begin, " \t\r\n"), begin);
    }
    explicit_bzero(line, sizeof line);
    if (code && code[0])
        return code;
    free(code);
    error_set(err, ERROR_BAD_REQUEST, "no code was entered");
    return NULL;
}

/* The code when the line has none: a node tells it to operators of its host, and others have one. */
static char *find_code(struct client *client, struct error *err)
{
    struct error reason = ERROR_INIT;
    char refusal[CLIENT_WORD_SIZE];
    struct client_request request = {
        .method = "GET", .path = "/v1/pairing", .timeout_ms = CLIENT_TIMEOUT_MS, .refusal = refusal};
    char *code = ask_for(client, &request, "code", &reason);
    if (code)
        return code;
    if (strcmp(refusal, "not_found") != 0) {
        *err = reason;
        return NULL;
    }
    if (isatty(STDIN_FILENO)) {
        terminal_say(
            "the node tells its code to operators of its host alone; others have one from an operator "
            "(berth invite)");
        fputs("code: ", stderr);
        return read_code(err);
    }
    error_set(err, ERROR_NOT_FOUND,
              "the node tells its code to operators of its host alone; ask one for: berth invite, and enter "
              "the code at: berth pair");
    return NULL;
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
    CLEANUP_CLIENT struct client *client = client_new(url, NULL, NULL);
    CLEANUP_FREE char *public_key = NULL;
    if (client_ask_key(client, &public_key, err) < 0)
        return -1;
    CLEANUP_FREE char *code = !given->code                    ? find_code(client, err)
                              : strcmp(given->code, "-") == 0 ? read_code(err)
                                                              : text_copy(given->code);
    CLEANUP_FREE char *token = code ? exchange_code(client, code, err) : NULL;
    char node_id[DIGEST_HEX_SIZE];
    bool known = public_key && identity_of(public_key, node_id);
    const struct client_node paired = {
        .url = url, .token = token, .node_id = known ? node_id : NULL, .public_key = public_key};
    if (!token || client_config_add(home, &paired, err) < 0)
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
                      "exchange a code for a token, which goes to client.toml and is never shown. "
                      "Operators of the node's host need no code; others ask one for it (berth invite) "
                      "and enter it when they are asked.",
              .examples = "berth pair\n"
                          "berth pair --url http://127.0.0.1:7433 --code - <code.txt"},
    .run = run_pair,
};
