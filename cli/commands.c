#include "commands.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/text.h"
#include "command.h"

extern const struct command command_doctor, command_node_up, command_pair, command_pairings, command_unpair,
    command_invite, command_invites, command_uninvite, command_up, command_status, command_view, command_end,
    command_park, command_unpark, command_screenshot, command_act, command_mcp, command_receipt,
    command_leases, command_image_build, command_image_verify, command_image_inspect;

static const struct command *const commands[] = {
    &command_doctor,       &command_node_up,       &command_pair,     &command_pairings, &command_unpair,
    &command_invite,       &command_invites,       &command_uninvite, &command_up,       &command_status,
    &command_view,         &command_end,           &command_park,     &command_unpark,   &command_screenshot,
    &command_act,          &command_mcp,           &command_receipt,  &command_leases,   &command_image_build,
    &command_image_verify, &command_image_inspect,
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

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
          "Data goes to stdout, talk to stderr. " USAGE_EXIT "\n"
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

static const struct command *find_command(const char *group, const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i]->name, name) == 0 && !commands[i]->group == !group &&
            (!group || strcmp(commands[i]->group, group) == 0))
            return commands[i];
    return NULL;
}

/* What stands in the place of `word`: names of the group, or first words where group is NULL. */
static int refuse_word(const char *group, const char *word)
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
        return refuse_word(group, argv[2]);
    FILE *out = help ? stdout : stderr;
    fprintf(out, "Usage: berth %s COMMAND [OPTION...]\n\nCommands:\n", group);
    print_list(out, group);
    return help ? EXIT_DONE : EXIT_USAGE;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *name = full_name(command);
    CLEANUP_FREE char *whole = text_format("berth %s", name);
    argv[0] = whole; /* what argp calls itself */
    CLEANUP_FREE void *arguments = usage_parse(&command->usage, argc, argv);
    const struct usage_common *common = arguments;
    CLEANUP_SESSION struct session *session = NULL;
    if (command->need != SESSION_NONE)
        session = session_open(common->url, common->lease, command->need, &err);
    int code = session || command->need == SESSION_NONE ? command->run(session, arguments, &err) : -1;
    return code < 0 ? terminal_fail(&err) : code;
}

int commands_dispatch(int argc, char **argv)
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
    const struct command *command =
        grouped ? argc > 2 ? find_command(argv[1], argv[2]) : NULL : find_command(NULL, argv[1]);
    if (command)
        return run_command(command, argc - 1 - grouped, argv + 1 + grouped);
    return grouped ? dispatch_group(argc, argv) : refuse_word(NULL, argv[1]);
}
