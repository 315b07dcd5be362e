/* berth doctor: may this host host? */
#include "doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/file.h"
#include "command.h"
#include "config/config.h"
#include "config/home.h"
#include "config/url.h"
#include "doctor/simulate.h"
#include "doctor_table.h"
#include "protocol/report.h"

struct doctor_arguments {
    struct usage_common common;
    const enum config_intent *intent; /* NULL when not given. Static */
    const char *simulate, *record;
    bool deep, market;
};

static const struct usage_row rows[] = {
    {"intent", "INTENT", "private or public (default: as node.toml says)", usage_intent, AT(doctor, intent)},
    {"simulate", "CASE", "Judge this host as if it had one defect: " SIMULATE_LIST, usage_text,
     AT(doctor, simulate)},
    {"deep", NULL, "Start a paused canary guest also in private intent, and inspect its process", usage_flag,
     AT(doctor, deep)},
    {"market", NULL,
     "Print the form of the report that a market stores; "
     "refused unless the report is green for public intent",
     usage_flag, AT(doctor, market)},
    {"record", "FILE",
     "Also write what was found here, with the settings that it was judged by, to FILE; it holds no secret",
     usage_text, AT(doctor, record)},
    {0},
};

static int check_record(const void *arguments, struct error *err)
{
    const struct doctor_arguments *given = arguments;
    if (!given->record || !given->simulate)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "--record keeps what this host is, without a simulated defect");
}

/* The node's address on its own host. *Owned*, or NULL where the file leaves the port to the kernel. */
static char *make_node_url(const struct config *config, struct error *err)
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
    CLEANUP_FREE char *url = make_node_url(config, &no_url);
    CLEANUP_JSON json_t *document = report_encode_market(report, url ? url : "", &err);
    if (document && url)
        return terminal_document(document);
    terminal_fail(document ? &no_url : &err);
    for (int row = 0; row < ROW_COUNT; row++)
        if (report->checks[row].status == STATUS_FAIL)
            terminal_say("%s: %s", report_row_word(row), report->checks[row].detail);
    return EXIT_REFUSED;
}

static int write_recording(const char *path, const json_t *recording, struct error *err)
{
    CLEANUP_FREE char *text = document_pretty(recording);
    if (file_write_atomic(path, 0644, text, strlen(text), err) < 0)
        return -1;
    terminal_say("what was found here is in %s", path);
    return 0;
}

static int run_doctor(struct session *none, const void *arguments, struct error *err)
{
    (void)none;
    const struct doctor_arguments *given = arguments;
    CLEANUP_FREE char *home = config_home();
    if (config_make_home(home, err) < 0)
        return -1;
    CLEANUP_CONFIG struct config *config = config_load(home, err);
    if (!config)
        return -1;
    CLEANUP_JSON json_t *recording = NULL;
    struct doctor_options doctor = {
        .config = config,
        .intent = given->intent ? *given->intent : config->intent,
        .simulate = given->simulate,
        .deep = given->deep,
        .progress = terminal_progress,
        .recording = given->record ? &recording : NULL,
    };
    CLEANUP_REPORT struct report *report = doctor_run(&doctor, err);
    terminal_update(NULL);
    if (!report) {
        terminal_say("berth doctor: %s", err->text);
        return err->code == ERROR_BAD_REQUEST ? EXIT_USAGE : EXIT_REFUSED;
    }
    if (recording && write_recording(given->record, recording, err) < 0)
        return -1;
    if (given->market)
        return print_for_market(report, config);
    if (given->common.json) {
        CLEANUP_JSON json_t *document = report_encode(report);
        terminal_document(document);
    } else {
        doctor_table_print(report);
    }
    return report->ok ? EXIT_DONE : EXIT_REFUSED;
}

const struct command command_doctor = {
    NULL,
    "doctor",
    "Say whether this host may lease guests",
    .usage = {.takes = TAKES_JSON,
              .rows = rows,
              .size = sizeof(struct doctor_arguments),
              .check = check_record,
              .help = "Look at this host and say, row by row, whether it may lease guests; "
                      "a row that cannot be looked at fails.",
              .exit = " Every row that the intent requires passes: 0. A simulated defect always gives 1.",
              .examples = "berth doctor\n"
                          "berth doctor --intent public --json\n"
                          "berth doctor --intent public --market >report.json\n"
                          "berth doctor --simulate tampered-image"},
    .run = run_doctor,
};
