/*
 * A command. Each has a file of its own with one `const struct command command_NAME`, which the table of
 * commands.c names; tests/lint/usage.sh holds all of them against the manual.
 */
#ifndef BERTHOS_CLI_COMMAND_H
#define BERTHOS_CLI_COMMAND_H

#include "session.h"
#include "terminal.h"
#include "usage.h"

struct command {
    const char *group;   /* the word before it ("image build"), or NULL */
    const char *name;    /* one word */
    const char *summary; /* for the list of commands */
    struct usage usage;
    enum session_need need;
    /*
     * session: as `need` says, borrowed; NULL for SESSION_NONE. arguments: what usage_parse() gave. Returns
     * an exit code of terminal.h, or -1 with the error, which is then said and gives EXIT_REFUSED.
     */
    int (*run)(struct session *session, const void *arguments, struct error *err);
};

#endif
