/* berth doctor: may this host host? */
#include "doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "command.h"
#include "config/config.h"
#include "config/home.h"
#include "config/url.h"
#include "doctor_table.h"
#include "protocol/report.h"

enum { KEY_INTENT = 0x200, KEY_SIMULATE, KEY_DEEP, KEY_MARKET, KEY_RECORD };

struct arguments {
    bool has_intent, json, deep, market;
    enum config_intent intent;
    const char *simulate, *record;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_INTENT:
        if (!config_intent_from(arg, &arguments->intent))
            argp_error(state, "--intent is private or public, not \"%s\"", arg);
        arguments->has_intent = true;
        return 0;
    case OPTION_JSON:
        arguments->json = true;
        return 0;
    case KEY_SIMULATE:
        arguments->simulate = arg;
        return 0;
    case KEY_DEEP:
        arguments->deep = true;
        return 0;
    case KEY_MARKET:
        arguments->market = true;
        return 0;
    case KEY_RECORD:
        arguments->record = arg;
        return 0;
    case ARGP_KEY_END:
        if (arguments->record && arguments->simulate)
            argp_error(state, "--record keeps what this host is, without a simulated defect");
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is too much", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"intent", KEY_INTENT, "INTENT", 0, "private or public (default: as node.toml says)", 0},
    HELP_JSON,
    {"simulate", KEY_SIMULATE, "CASE", 0,
     "Judge this host as if it had one defect: laptop, missing-image, bind-all, stale-labels, "
     "tampered-image, "
     "no-kvm, emulated-kvm, no-libvirt, low-memory, low-cpu, wifi, battery, unconfined, nic",
     0},
    {"deep", KEY_DEEP, NULL, 0, "Start a paused canary guest also in private intent, and inspect its process",
     0},
    {"market", KEY_MARKET, NULL, 0,
     "Print the form of the report that a market stores; refused unless the report is green for public "
     "intent",
     0},
    {"record", KEY_RECORD, "FILE", 0,
     "Also write what was found here, with the settings that it was judged by, to FILE; it holds no secret",
     0},
    {0},
};

static const struct argp usage = {
    .options = options,
    .parser = parse,
    .doc =
        "Look at this host and say, row by row, whether it may lease guests; a row that cannot be looked at "
        "fails."
        "\v" HELP_EXIT " Every row that the intent requires passes: 0. A simulated defect always gives 1.\n\n"
        "Examples:\n"
        "  berth doctor\n"
        "  berth doctor --intent public --json\n"
        "  berth doctor --intent public --market >report.json\n"
        "  berth doctor --simulate tampered-image\n",
};

/* The node's address on its own host. *Owned*, or NULL where the file leaves the port to the kernel. */
static char *node_url(const struct config *config, struct error *err)
{
    if (config->port == 0) {
        error_set(err, ERROR_CONFIG,
                  "port is 0 in %s, so the node's address is another at each start; a market needs one that "
                  "stays: set port",
                  config->path);
        return NULL;
    }
    return url_make(config->bind, (unsigned)config->port);
}

static int print_for_market(const struct report *report, const struct config *config)
{
    struct error err = ERROR_INIT, no_url = ERROR_INIT;
    CLEANUP_FREE char *url = node_url(config, &no_url);
    CLEANUP_JSON json_t *document = report_encode_market(report, url ? url : "", &err);
    if (document && url)
        return terminal_document(document);
    terminal_fail(document ? &no_url : &err);
    for (int row = 0; row < ROW_COUNT; row++)
        if (report->checks[row].status == STATUS_FAIL)
            terminal_say("%s: %s", report_row_word(row), report->checks[row].detail);
    return EXIT_REFUSED;
}

static int write_recording(const char *path, const json_t *recording)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *text = document_pretty(recording);
    if (file_write_atomic(path, 0644, text, strlen(text), &err) < 0)
        return terminal_fail(&err);
    terminal_say("what was found here is in %s", path);
    return EXIT_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct arguments arguments = {0};
    command_parse(command, argc, argv, &arguments);

    CLEANUP_FREE char *home = config_home();
    if (config_make_home(home, &err) < 0)
        return terminal_fail(&err);
    CLEANUP_CONFIG struct config *config = config_load(home, &err);
    if (!config)
        return terminal_fail(&err);
    CLEANUP_JSON json_t *recording = NULL;
    struct doctor_options doctor = {
        .config = config,
        .intent = arguments.has_intent ? arguments.intent : config->intent,
        .simulate = arguments.simulate,
        .deep = arguments.deep,
        .progress = terminal_progress,
        .recording = arguments.record ? &recording : NULL,
    };
    CLEANUP_REPORT struct report *report = doctor_run(&doctor, &err);
    terminal_update(NULL);
    if (!report) {
        terminal_say("%s: %s", argv[0], err.text);
        return err.code == ERROR_BAD_REQUEST ? EXIT_USAGE : EXIT_REFUSED;
    }
    if (recording && write_recording(arguments.record, recording) != EXIT_DONE)
        return EXIT_REFUSED;
    if (arguments.market)
        return print_for_market(report, config);
    if (arguments.json) {
        CLEANUP_JSON json_t *document = report_encode(report);
        terminal_document(document);
    } else {
        doctor_table_print(report);
    }
    return report->ok ? EXIT_DONE : EXIT_REFUSED;
}

const struct command command_doctor = {NULL, "doctor", "Say whether this host may lease guests", &usage, run};
