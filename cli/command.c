#include "command.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"

static const struct command *const commands[] = {
    &command_doctor, &command_node_up,     &command_pair,         &command_pairings,      &command_unpair,
    &command_up,     &command_status,      &command_view,         &command_end,           &command_park,
    &command_unpark, &command_screenshot,  &command_act,          &command_mcp,           &command_receipt,
    &command_leases, &command_image_build, &command_image_verify, &command_image_inspect,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], OPTIONS_MAX = 32 };

const char *argp_program_version = "berth " BERTHOS_VERSION;

const struct command *const *command_table(size_t *count)
{
    *count = COMMAND_COUNT;
    return commands;
}

static char *full_name(const struct command *command)
{
    return text_format("%s%s%s", command->group ? command->group : "", command->group ? " " : "",
                       command->name);
}

static void print_list(FILE *out, const char *group)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (group && (!commands[i]->group || strcmp(commands[i]->group, group) != 0))
            continue;
        CLEANUP_FREE char *name = full_name(commands[i]);
        fprintf(out, "  %-14s  %s\n", name, commands[i]->summary);
    }
}

static void print_help(FILE *out)
{
    fputs("Usage: berth COMMAND [OPTION...]\n"
          "Lease isolated Linux desktops from this host, and use them.\n\n"
          "Commands:\n",
          out);
    print_list(out, NULL);
    fputs("\n"
          "  --help          Print this, or with a command its options and examples\n"
          "  --version       Print the version\n\n"
          "Data goes to stdout, talk to stderr. " HELP_EXIT "\n"
          "Files are in $BERTHOS_HOME (~/.berthos). The manual: berth(1), berth-node.toml(5).\n",
          out);
}

static bool is_group(const char *word)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (commands[i]->group && strcmp(commands[i]->group, word) == 0)
            return true;
    return false;
}

static const struct command *find(const char *group, const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0 && !commands[i]->group == !group &&
            (!group || strcmp(commands[i]->group, group) == 0))
            return commands[i];
    return NULL;
}

/* What stands in the place of `word`: names of the group, or first words where group is NULL. */
static int refuse(const char *group, const char *word)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *own = commands[i]->group;
        names[i] = !group                           ? own ? own : commands[i]->name
                   : own && strcmp(own, group) == 0 ? commands[i]->name
                                                    : NULL;
    }
    const char *near = nearest_word(word, names, COMMAND_COUNT);
    terminal_say("berth: unknown command \"%s%s%.60s\"%s%s%s%s%s", group ? group : "", group ? " " : "", word,
                 near ? "; did you mean \"" : "; berth --help lists them", near && group ? group : "",
                 near && group ? " " : "", near ? near : "", near ? "\"?" : "");
    return EXIT_USAGE;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-?") == 0 || strcmp(word, "-h") == 0;
}

/* "berth image" and "berth image --help". */
static int dispatch_group(int argc, char **argv)
{
    const char *group = argv[1];
    bool help = argc > 2 && is_help(argv[2]);
    if (argc > 2 && !help && argv[2][0] != '-')
        return refuse(group, argv[2]);
    FILE *out = help ? stdout : stderr;
    fprintf(out, "Usage: berth %s COMMAND [OPTION...]\n\nCommands:\n", group);
    print_list(out, group);
    return help ? EXIT_DONE : EXIT_USAGE;
}

static int run(const struct command *command, int argc, char **argv)
{
    CLEANUP_FREE char *name = full_name(command);
    char *whole = text_format("berth %s", name);
    argv[0] = whole; /* what argp calls itself; it keeps the pointer in program_invocation_name */
    int code = command->run(command, argc, argv);
    free(TAKE(argv[0]));
    return code;
}

int command_dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (is_help(argv[1])) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("%s\n", argp_program_version);
        return EXIT_DONE;
    }
    if (argv[1][0] == '-') {
        terminal_say("berth: a command comes first; berth --help lists them");
        return EXIT_USAGE;
    }
    bool grouped = is_group(argv[1]);
    const struct command *command = grouped ? argc > 2 ? find(argv[1], argv[2]) : NULL : find(NULL, argv[1]);
    if (command)
        return run(command, argc - 1 - grouped, argv + 1 + grouped);
    return grouped ? dispatch_group(argc, argv) : refuse(NULL, argv[1]);
}

/* The option's row: by its name, whole or, as getopt_long() takes it, by the start of it. */
static const struct argp_option *option_of(const struct argp *usage, const char *word)
{
    size_t length = strcspn(word, "=");
    for (const struct argp_option *row = usage->options; row && (row->name || row->key); row++)
        if (row->name && strncmp(row->name, word, length) == 0)
            return row;
    static const char *const standard[] = {"help", "usage", "version"};
    static const struct argp_option ours;
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        if (strncmp(standard[i], word, length) == 0)
            return &ours;
    return NULL;
}

static void refuse_option(const char *self, const struct argp *usage, const char *word)
{
    const char *names[OPTIONS_MAX] = {"help", "version"};
    size_t count = 2;
    for (const struct argp_option *row = usage->options; row && (row->name || row->key); row++)
        if (row->name && count < OPTIONS_MAX)
            names[count++] = row->name;
    CLEANUP_FREE char *name = text_format("%.*s", (int)strcspn(word, "="), word);
    const char *near = nearest_word(name, names, count);
    terminal_say("%s: unknown option --%s%s%s%s", self, name, near ? "; did you mean --" : "",
                 near ? near : "", near ? "?" : "");
    terminal_say("%s --help lists its options", self);
    exit(EXIT_USAGE);
}

/* getopt would refuse an unknown option without a hint, so long ones are looked at first. */
static void check_options(const struct command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!text_starts(argv[i], "--")) {
            /* "-o FILE": the file may look like an option */
            const struct argp_option *row = command->usage->options;
            for (; row && (row->name || row->key) && argv[i][0] == '-'; row++)
                if (row->arg && argv[i][1] == row->key && !argv[i][2])
                    i++;
            continue;
        }
        const struct argp_option *row = option_of(command->usage, argv[i] + 2);
        if (!row)
            refuse_option(argv[0], command->usage, argv[i] + 2);
        else if (row->arg && !strchr(argv[i], '='))
            i++;
    }
}

void command_parse(const struct command *command, int argc, char **argv, void *input)
{
    static char help[] = "--help";
    if (argc > 1 && strcmp(argv[1], "-h") == 0) /* argp has -? alone */
        argv[1] = help;
    argp_err_exit_status = EXIT_USAGE;
    check_options(command, argc, argv);
    argp_parse(command->usage, argc, argv, 0, NULL, input);
}
