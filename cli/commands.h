/* The table of commands: what `berth --help` lists, and which of them a line runs. */
#ifndef BERTHOS_CLI_COMMANDS_H
#define BERTHOS_CLI_COMMANDS_H

/* Finds the command that a line begins with and runs it. Returns its exit code. */
int commands_dispatch(int argc, char **argv);

#endif
