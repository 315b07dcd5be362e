#include "doctor_table.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "layout.h"
#include "terminal.h"

/* Columns: a status of four letters, the row's name (the longest is "confinement"), the detail. */
enum { NAME_WIDTH = 12, DETAIL_COLUMN = 2 + 4 + 2 + NAME_WIDTH + 2 };

static const enum terminal_colour colours[] = {
    [STATUS_FAIL] = COLOUR_RED,
    [STATUS_WARN] = COLOUR_YELLOW,
    [STATUS_PASS] = COLOUR_GREEN,
};

char *doctor_table_verdict(const struct report *report)
{
    unsigned failed = 0;
    for (int row = 0; row < ROW_COUNT; row++)
        failed += report->checks[row].status == STATUS_FAIL;
    if (report->ok)
        return text_format("eligible for %s intent", report->intent_word);
    return text_format("not eligible for %s intent: %u row%s", report->intent_word, failed,
                       failed == 1 ? " fails" : "s fail");
}

static void print_row(enum report_row row, const struct report_check *check)
{
    size_t width = terminal_width(STDOUT_FILENO);
    /* too narrow for a column beside the names: let the terminal break the lines */
    if (width < DETAIL_COLUMN + 20)
        width = 0;
    CLEANUP_FREE char *clean = layout_clean(check->detail ? check->detail : "");
    CLEANUP_FREE char *detail = layout_wrap(clean, DETAIL_COLUMN, width);
    fputs("  ", stdout);
    terminal_paint(colours[check->status], report_status_word(check->status));
    printf("  %-*s  %s\n", NAME_WIDTH, report_row_word(row), detail);
}

void doctor_table_print(const struct report *report)
{
    for (int row = 0; row < ROW_COUNT; row++)
        print_row(row, &report->checks[row]);
    CLEANUP_FREE char *verdict = doctor_table_verdict(report);
    fputs("\n", stdout);
    terminal_paint(report->ok ? COLOUR_GREEN : COLOUR_RED, verdict);
    fputs("\n", stdout);
}
