#include "usage.h"

#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/text.h"
#include "config/config.h"
#include "protocol/lease.h"
#include "terminal.h"

enum { ROWS_MAX = 16, KEY_FIRST = 0x100 };

const char *argp_program_version = "berth " BERTHOS_VERSION;

static const struct {
    enum usage_takes takes;
    struct usage_row row;
} common[] = {
    {TAKES_URL,
     {"url", "URL", "The node, as http://127.0.0.1:7432 (default: the one paired with)", usage_text,
      AT_COMMON(url)}},
    {TAKES_JSON, {"json", NULL, "Print the document as JSON", usage_flag, AT_COMMON(json)}},
    {TAKES_LEASE, {NULL, "LEASE", NULL, usage_lease, AT_COMMON(lease)}},
};

/* A line that is being read. */
struct line {
    const struct usage *usage;
    const struct usage_row *rows[ROWS_MAX]; /* borrowed */
    size_t count;
    char *arguments; /* the caller's struct */
};

int usage_flag(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    (void)row, (void)text, (void)err;
    *(bool *)place = true;
    return 0;
}

int usage_text(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    (void)row, (void)err;
    *(const char **)place = text;
    return 0;
}

int usage_path(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    if (!text[0])
        return error_set(err, ERROR_BAD_REQUEST, "--%s needs the name of a %s", row->name,
                         strcmp(row->value, "DIR") == 0 ? "folder" : "file");
    return usage_text(row, text, place, err);
}

int usage_lease(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    if (!lease_id_valid(text))
        return error_set(err, ERROR_BAD_REQUEST, "\"%s\" is not a lease: its id is l_ and 32 hex digits",
                         text);
    return usage_text(row, text, place, err);
}

int usage_number(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    if (text_to_integer(text, row->min, row->max, place))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "--%s is a whole number from %" PRId64 " to %" PRId64 ", not \"%s\"", row->name,
                     row->min, row->max, text);
}

int usage_intent(const struct usage_row *row, const char *text, void *place, struct error *err)
{
    static const enum config_intent intents[] = {INTENT_PRIVATE, INTENT_PUBLIC};
    enum config_intent intent;
    if (!config_intent_from(text, &intent))
        return error_set(err, ERROR_BAD_REQUEST, "--%s is private or public, not \"%s\"", row->name, text);
    *(const enum config_intent **)place = &intents[intent];
    return 0;
}

static void add_row(struct line *line, const struct usage_row *row)
{
    if (line->count == ROWS_MAX)
        abort();
    line->rows[line->count++] = row;
}

/* The command's own rows, then those that it shares. */
static void list_rows(struct line *line)
{
    for (const struct usage_row *row = line->usage->rows; row && row->read; row++)
        add_row(line, row);
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (line->usage->takes & common[i].takes)
            add_row(line, &common[i].row);
}

static int key_of(const struct line *line, size_t i)
{
    return line->rows[i]->letter ? line->rows[i]->letter : KEY_FIRST + (int)i;
}

static const struct usage_row *find_operand(const struct line *line, unsigned number)
{
    for (size_t i = 0; i < line->count; i++)
        if (!line->rows[i]->name && number-- == 0)
            return line->rows[i];
    return NULL;
}

static const struct usage_row *find_option(const struct line *line, int key)
{
    for (size_t i = 0; i < line->count; i++)
        if (line->rows[i]->name && key_of(line, i) == key)
            return line->rows[i];
    return NULL;
}

static void check_whole(const struct line *line, struct argp_state *state)
{
    struct error err = ERROR_INIT;
    const struct usage_row *missing = find_operand(line, state->arg_num);
    if (missing && missing->help)
        argp_error(state, "%s", missing->help);
    if (line->usage->check && line->usage->check(line->arguments, &err) < 0)
        argp_error(state, "%s", err.text);
}

static error_t take_value(int key, char *text, struct argp_state *state)
{
    struct error err = ERROR_INIT;
    const struct line *line = state->input;
    const char *surplus = line->usage->surplus;
    const struct usage_row *row =
        key == ARGP_KEY_ARG ? find_operand(line, state->arg_num) : find_option(line, key);
    if (row && row->read(row, text, line->arguments + row->offset, &err) < 0)
        argp_error(state, "%s", err.text);
    else if (!row && key == ARGP_KEY_ARG)
        argp_error(state, "\"%s\" %s", text, surplus ? surplus : "is too much");
    else if (key == ARGP_KEY_END)
        check_whole(line, state);
    return row || key == ARGP_KEY_ARG || key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

/* Whether an option has this name, whole or, as getopt_long() takes it, the start of it; its row, if any. */
static bool knows_option(const struct line *line, const char *word, const struct usage_row **row)
{
    static const char *const standard[] = {"help", "usage", "version"};
    size_t length = strcspn(word, "=");
    *row = NULL;
    for (size_t i = 0; i < line->count && !*row; i++)
        if (line->rows[i]->name && strncmp(line->rows[i]->name, word, length) == 0)
            *row = line->rows[i];
    bool known = *row;
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        known = known || strncmp(standard[i], word, length) == 0;
    return known;
}

static void refuse_option(const char *self, const struct line *line, const char *word)
{
    const char *names[ROWS_MAX + 2] = {"help", "version"};
    for (size_t i = 0; i < line->count; i++)
        names[i + 2] = line->rows[i]->name;
    CLEANUP_FREE char *name = text_format("%.*s", (int)strcspn(word, "="), word);
    const char *near = nearest_word(name, names, line->count + 2);
    terminal_say("%s: unknown option --%s%s%s%s", self, name, near ? "; did you mean --" : "",
                 near ? near : "", near ? "?" : "");
    terminal_say("%s --help lists its options", self);
    exit(EXIT_USAGE);
}

/* getopt would refuse an unknown option without a hint, so long ones are looked at first. */
static void check_options(const struct line *line, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const struct usage_row *row = NULL;
        if (text_starts(argv[i], "--")) {
            if (!knows_option(line, argv[i] + 2, &row))
                refuse_option(argv[0], line, argv[i] + 2);
            if (strchr(argv[i], '='))
                continue;
        } else if (argv[i][0] == '-' && argv[i][1] && !argv[i][2]) {
            row = find_option(line, argv[i][1]); /* "-o FILE": the file may look like an option */
        }
        i += row && row->value && !row->maybe;
    }
}

char *usage_doc(const struct usage *usage)
{
    CLEANUP_FREE char *list = usage->list ? usage->list() : text_copy("");
    struct text_buffer text = {0};
    text_append(&text, "%s\v%s%s" USAGE_EXIT "%s\n\nExample%s:\n", usage->help, list, list[0] ? "\n" : "",
                usage->exit ? usage->exit : "", strchr(usage->examples, '\n') ? "s" : "");
    for (const char *at = usage->examples; *at;) {
        size_t length = strcspn(at, "\n");
        text_append(&text, "  %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
    return text.text;
}

/* "JSON [LEASE]", or NULL. */
static char *list_operands(const struct line *line)
{
    struct text_buffer list = {0};
    for (size_t i = 0; i < line->count; i++)
        if (!line->rows[i]->name)
            text_join(&list, " ", line->rows[i]->help ? "%s" : "[%s]", line->rows[i]->value);
    return list.text;
}

void *usage_parse(const struct usage *usage, int argc, char **argv)
{
    static char help[] = "--help";
    struct argp_option options[ROWS_MAX + 1] = {0};
    struct line line = {.usage = usage};
    size_t count = 0;
    line.arguments = memory_new(usage->size ? usage->size : sizeof(struct usage_common));
    list_rows(&line);
    for (size_t i = 0; i < line.count; i++) {
        const struct usage_row *row = line.rows[i];
        if (row->fallback)
            memcpy(line.arguments + row->offset, &row->fallback, sizeof row->fallback);
        if (row->name)
            options[count++] = (struct argp_option){.name = row->name,
                                                    .key = key_of(&line, i),
                                                    .arg = row->value,
                                                    .flags = row->maybe ? OPTION_ARG_OPTIONAL : 0,
                                                    .doc = row->help};
    }
    CLEANUP_FREE char *doc = usage_doc(usage);
    CLEANUP_FREE char *operands = list_operands(&line);
    const struct argp argp = {.options = options, .parser = take_value, .args_doc = operands, .doc = doc};
    if (argc > 1 && strcmp(argv[1], "-h") == 0) /* argp has -? alone */
        argv[1] = help;
    argp_err_exit_status = EXIT_USAGE;
    check_options(&line, argc, argv);
    argp_parse(&argp, argc, argv, 0, NULL, &line);
    return line.arguments;
}
