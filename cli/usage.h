/*
 * What a command's line may hold: options and operands as rows of a table, read into a struct of the
 * command's own, and the help that is made of them. argp reads the line; what is wrong in it is told on
 * stderr and ends the process.
 */
#ifndef BERTHOS_CLI_USAGE_H
#define BERTHOS_CLI_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct usage_row;

/* Reads the text of a value (NULL: the option came without one) into its place; -1 with what is right. */
typedef int usage_read(const struct usage_row *row, const char *text, void *place, struct error *err);

struct usage_row {
    const char *name;  /* of an option, without its dashes; NULL for an operand */
    const char *value; /* what the help calls the value; NULL for a flag */
    const char *help;  /* of an operand: what is said where it is missing; NULL where it may be */
    usage_read *read;
    size_t offset;    /* of the place, in the command's arguments */
    int64_t min, max; /* of a number */
    int64_t fallback; /* of a number: what holds without the option */
    char letter;      /* the option's other name; 0 for none */
    bool maybe;       /* the option may come without its value */
};

/* The place of a row: in a `struct COMMAND_arguments`, or in what is common to commands. */
#define AT(command, member) .offset = offsetof(struct command##_arguments, member)
#define AT_COMMON(member)   .offset = offsetof(struct usage_common, member)

/* Readers. The place is a bool, */
usage_read usage_flag;
/* a const char *, borrowed from the line, */
usage_read usage_text;
/* a const char *, not empty, of a FILE or DIR, */
usage_read usage_path;
/* a const char *, which is a lease's id, */
usage_read usage_lease;
/* an int64_t of min..max, */
usage_read usage_number;
/* a const enum config_intent *, static. */
usage_read usage_intent;

/* What most lines hold. A command that takes more puts this first into a struct of its own. */
struct usage_common {
    const char *url, *lease; /* NULL when not given */
    bool json;
};

/* Which of it a command takes. */
enum usage_takes { TAKES_URL = 1, TAKES_JSON = 2, TAKES_LEASE = 4 };

struct usage {
    unsigned takes;               /* of enum usage_takes */
    const struct usage_row *rows; /* the command's own, ended by one without `read`; NULL for none */
    size_t size;                  /* of its arguments; 0 for struct usage_common */
    /* Looks at a line as a whole; -1 with what is wrong. NULL for nothing to see. */
    int (*check)(const void *arguments, struct error *err);
    const char *surplus;  /* what is said of an operand too many; NULL: that it is too much */
    const char *help;     /* sentences */
    char *(*list)(void);  /* what else the help lists, *owned*; NULL for nothing */
    const char *exit;     /* more about exit codes, or NULL */
    const char *examples; /* a line each */
};

/* The end of every help. */
#define USAGE_EXIT "Exit status: 0 done, 1 refused or failed, 2 wrong usage."

/*
 * Reads a line: argv[0] is "berth NAME". Wrong usage ends the process with EXIT_USAGE, --help and --version
 * with EXIT_DONE. *Owned*, to be freed; the texts in it are borrowed from argv.
 */
void *usage_parse(const struct usage *usage, int argc, char **argv);

/* The text of a command's help around the list of its options, as argp takes it. *Owned*. */
char *usage_doc(const struct usage *usage);

#endif
