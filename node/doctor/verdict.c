#include "doctor/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows that only public intent requires; in private intent they warn. */
#define PUBLIC_ONLY(row, word, required) [row] = !required,
static const bool public_only[ROW_COUNT] = {REPORT_ROWS(PUBLIC_ONLY)};

void verdict_say(struct verdict *verdict, enum report_row row, enum report_status status, const char *format,
                 ...)
{
    struct report_check *check = &verdict->report->checks[row];
    va_list args;
    va_start(args, format);
    free(check->detail);
    if (vasprintf(&check->detail, format, args) < 0)
        abort();
    va_end(args);
    check->status = status == STATUS_FAIL && public_only[row] && !verdict->public ? STATUS_WARN : status;
}
