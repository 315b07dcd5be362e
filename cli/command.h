/*
 * The commands. Each has a file of its own with one `const struct command`; the table in command.c is what
 * `berth --help` prints and what tests/lint/usage.sh holds against the manual.
 */
#ifndef BERTHOS_CLI_COMMAND_H
#define BERTHOS_CLI_COMMAND_H

#include <argp.h>
#include <stddef.h>

#include "terminal.h"

struct command {
    const char *group;        /* the word before it ("image build"), or NULL */
    const char *name;         /* one word */
    const char *summary;      /* for the list of commands */
    const struct argp *usage; /* options, arguments and help */
    /* argv[0] is "berth NAME". Returns an exit code of terminal.h. */
    int (*run)(const struct command *command, int argc, char **argv);
};

extern const struct command command_doctor, command_node_up, command_pair, command_pairings, command_unpair,
    command_up, command_status, command_end, command_park, command_unpark, command_screenshot, command_act,
    command_view, command_mcp, command_receipt, command_leases, command_image_build, command_image_verify,
    command_image_inspect;

/* The table. Borrowed, static. */
const struct command *const *command_table(size_t *count);

/*
 * Parses a command's line by its `usage`; `input` is what its parser finds in state->input. Wrong usage is
 * told on stderr and ends the process with EXIT_USAGE, --help and --version with EXIT_DONE.
 */
void command_parse(const struct command *command, int argc, char **argv, void *input);

/* Finds the command that a line begins with and runs it. Returns its exit code. */
int command_dispatch(int argc, char **argv);

/* The end of every command's help. */
#define HELP_EXIT "Exit status: 0 done, 1 refused or failed, 2 wrong usage."

/* Options that several commands have, with the keys their parsers see. */
enum { OPTION_JSON = 0x100, OPTION_URL };
#define HELP_JSON                                                                                            \
    {                                                                                                        \
        "json", OPTION_JSON, NULL, 0, "Print the document as JSON", 0                                        \
    }
#define HELP_URL                                                                                             \
    {                                                                                                        \
        "url", OPTION_URL, "URL", 0, "The node, as http://127.0.0.1:7432 (default: the one paired with)", 0  \
    }

#endif
