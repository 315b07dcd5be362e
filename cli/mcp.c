/* berth mcp: the tools of the Model Context Protocol over stdin and stdout. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
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
#include "session.h"

/* After the end of input: how long calls may still finish, be cancelled, and answers be written. */
enum { FINISH_MS = 250, CANCEL_MS = 200, FLUSH_MS = 150, THREADS = 8 };

enum { OPTION_LEASE = 0x200, OPTION_PRINT_CONFIG };

struct arguments {
    const char *url, *lease;
    bool print_config, vscode;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case OPTION_URL:
        arguments->url = arg;
        return 0;
    case OPTION_LEASE:
        if (!session_lease_ok(arg))
            argp_error(state, "\"%s\" is not a lease: its id is l_ and 32 hex digits", arg);
        arguments->lease = arg;
        return 0;
    case OPTION_PRINT_CONFIG:
        arguments->print_config = true;
        arguments->vscode = arg && strcmp(arg, "vscode") == 0;
        if (arg && !arguments->vscode && strcmp(arg, "claude") != 0 && strcmp(arg, "cursor") != 0)
            argp_error(state, "--print-config is claude, cursor or vscode");
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is too much", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    HELP_URL,
    {"lease", OPTION_LEASE, "LEASE", 0, "The lease that is meant (default: the only live one)", 0},
    {"print-config", OPTION_PRINT_CONFIG, "CLIENT", OPTION_ARG_OPTIONAL,
     "Print what to put into the configuration of an MCP client, and do nothing else: claude (default), "
     "cursor, "
     "vscode",
     0},
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .doc = "Let a model operate the leased desktop: serve the Model Context Protocol on stdin and stdout. An "
           "MCP "
           "client starts this; --print-config tells it how. Ends with its input."
           "\v" HELP_EXIT "\n\n"
           "Examples:\n"
           "  berth mcp --print-config\n"
           "  berth mcp --lease l_0123456789abcdef0123456789abcdef\n",
};

/* {"command": ..., "args": [...]}, with the home where it is not the usual one. */
static json_t *launch(const struct arguments *arguments)
{
    char self[PATH_MAX] = "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const char *home = getenv("BERTHOS_HOME");
    json_t *args = json_pack("[s]", "mcp");
    if (arguments->url) {
        json_array_append_new(args, json_string("--url"));
        json_array_append_new(args, json_string(arguments->url));
    }
    if (arguments->lease) {
        json_array_append_new(args, json_string("--lease"));
        json_array_append_new(args, json_string(arguments->lease));
    }
    json_t *server = json_pack("{s:s, s:o}", "command", length > 0 ? self : "berth", "args", args);
    if (home && home[0])
        json_object_set_new(server, "env", json_pack("{s:s}", "BERTHOS_HOME", home));
    return server;
}

static int print_config(const struct arguments *arguments)
{
    json_t *server = launch(arguments);
    if (arguments->vscode)
        json_object_set_new(server, "type", json_string("stdio"));
    CLEANUP_JSON json_t *document =
        json_pack("{s:{s:o}}", arguments->vscode ? "servers" : "mcpServers", "berthos", server);
    terminal_say("%s",
                 arguments->vscode
                     ? "For VS Code: .vscode/mcp.json, or the user's mcp.json:"
                     : "For Claude Desktop (claude_desktop_config.json), Claude Code (.mcp.json) and Cursor "
                       "(.cursor/mcp.json):");
    return terminal_document(document);
}

/* Reads until the end of input, or until nobody reads what is answered. */
static void serve(struct mcp_server *server, struct mcp_output *output)
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

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);
    CLEANUP_FREE char *url = arguments.url ? url_read(arguments.url, &err) : NULL;
    if (arguments.url && !url)
        return terminal_fail(&err);
    if (arguments.print_config)
        return print_config(&arguments);
    signal(SIGPIPE, SIG_IGN);
    struct mcp_output *output = mcp_output_new(STDOUT_FILENO, &err);
    if (!output)
        return terminal_fail(&err);
    struct mcp_node *node = mcp_node_new(url, arguments.lease);
    struct mcp_server *server = mcp_server_new(node, THREADS, mcp_output_line, output);
    serve(server, output);
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

const struct command command_mcp = {NULL, "mcp", "Let a model operate the desktop (MCP)", &usage, run};
