/* berth mcp: the tools of the Model Context Protocol over stdin and stdout. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"
#include "command.h"
#include "config/url.h"
#include "mcp/input.h"
#include "mcp/node.h"
#include "mcp/output.h"
#include "mcp/server.h"

/* After the end of input: how long calls may still finish, be cancelled, and answers be written. */
enum { FINISH_MS = 250, CANCEL_MS = 200, FLUSH_MS = 150, THREADS = 8 };

struct mcp_arguments {
    struct usage_common common;
    const char *config; /* the client of --print-config, or NULL */
};

static int read_client(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    const char *client = text ? text : "claude";
    if (strcmp(client, "claude") != 0 && strcmp(client, "cursor") != 0 && strcmp(client, "vscode") != 0)
        return error_set(err, ERROR_BAD_REQUEST, "--print-config is claude, cursor or vscode");
    return usage_text(row, client, place, err);
}

static const struct usage_row rows[] = {
    {"lease", "LEASE", "The lease that is meant (default: the only live one)", usage_lease, AT_COMMON(lease)},
    {"print-config", "CLIENT",
     "Print what to put into the configuration of an MCP client, and do nothing else: "
     "claude (default), cursor, vscode",
     read_client, AT(mcp, config), .maybe = true},
    {0},
};

static void add_option(json_t *args, const char *option, const char *value)
{
    if (!value)
        return;
    json_array_append_new(args, json_string(option));
    json_array_append_new(args, json_string(value));
}

/* {"command": ..., "args": [...]}, with the home where it is not the usual one. */
static json_t *describe_launch(const struct usage_common *given)
{
    char self[PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *home = getenv("BERTHOS_HOME");
    json_t *args = json_pack("[s]", "mcp");
    add_option(args, "--url", given->url);
    add_option(args, "--lease", given->lease);
    json_t *server = json_pack("{s:s, s:o}", "command", length > 0 ? self : "berth", "args", args);
    if (home && home[0])
        json_object_set_new(server, "env", json_pack("{s:s}", "BERTHOS_HOME", home));
    return server;
}

static int print_config(const struct mcp_arguments *given)
{
    bool vscode = strcmp(given->config, "vscode") == 0;
    json_t *server = describe_launch(&given->common);
    if (vscode)
        json_object_set_new(server, "type", json_string("stdio"));
    CLEANUP_JSON json_t *document =
        json_pack("{s:{s:o}}", vscode ? "servers" : "mcpServers", "berthos", server);
    terminal_say("%s", vscode ? "For VS Code: .vscode/mcp.json, or the user's mcp.json:"
                              : "For Claude Desktop (claude_desktop_config.json), Claude Code (.mcp.json) "
                                "and Cursor (.cursor/mcp.json):");
    return terminal_document(document);
}

/* Reads until the end of input, or until nobody reads what is answered. */
static void serve_input(struct mcp_server *server, struct mcp_output *output)
{
    CLEANUP_MCP_INPUT struct mcp_input *input = mcp_input_new(STDIN_FILENO, MCP_LINE_MAX);
    const char *line = NULL;
    size_t size = 0;
    while (mcp_output_ready(output, STDIN_FILENO))
        switch (mcp_input_next(input, &line, &size)) {
        case MCP_INPUT_LINE:
            mcp_server_line(server, line, size);
            break;
        case MCP_INPUT_LONG:
            mcp_server_long_line(server);
            break;
        case MCP_INPUT_END:
            return;
        }
}

static int run_mcp(struct session *none, const void *arguments, struct error *err)
{
    (void)none;
    const struct mcp_arguments *given = arguments;
    CLEANUP_FREE char *url = given->common.url ? url_read(given->common.url, err) : NULL;
    if (given->common.url && !url)
        return -1;
    if (given->config)
        return print_config(given);
    signal(SIGPIPE, SIG_IGN);
    struct mcp_output *output = mcp_output_new(STDOUT_FILENO, err);
    if (!output)
        return -1;
    struct mcp_node *node = mcp_node_new(url, given->common.lease);
    struct mcp_server *server = mcp_server_new(node, THREADS, mcp_output_line, output);
    serve_input(server, output);
    /* What was asked for before the input ended is answered if it is quick; then its connection is closed. */
    bool done = mcp_server_wait(server, clock_deadline(FINISH_MS));
    if (!done) {
        mcp_server_stop(server);
        done = mcp_server_wait(server, clock_deadline(CANCEL_MS));
    }
    bool written = mcp_output_flush(output, clock_deadline(FLUSH_MS));
    if (!done || !written) /* a thread is stuck in the host or on a reader: nothing is gained by waiting */
        _exit(EXIT_REFUSED);
    mcp_server_free(server);
    mcp_node_free(node);
    return EXIT_DONE;
}

const struct command command_mcp = {
    NULL,
    "mcp",
    "Let a model operate the desktop (MCP)",
    .usage = {.takes = TAKES_URL,
              .rows = rows,
              .size = sizeof(struct mcp_arguments),
              .help = "Let a model operate the leased desktop: "
                      "serve the Model Context Protocol on stdin and stdout. "
                      "An MCP client starts this; --print-config tells it how. Ends with its input.",
              .examples = "berth mcp --print-config\n"
                          "berth mcp --lease l_0123456789abcdef0123456789abcdef"},
    .run = run_mcp,
};
