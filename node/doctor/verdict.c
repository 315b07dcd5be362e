#include "doctor/verdict.h"

#include <stdarg.h>

#include "base/text.h"

/* Rows that only public intent requires; in private intent they warn. */
#define PUBLIC_ONLY(row, word, required) [row] = !required,
static const bool public_only[ROW_COUNT] = {REPORT_ROWS(PUBLIC_ONLY)};

void verdict_say(struct verdict *verdict, enum report_status status, const char *format, ...)
{
    struct report_check *check = &verdict->report->checks[verdict->row];
    va_list args;
    va_start(args, format);
    free(check->detail);
    check->detail = text_format_args(format, args);
    va_end(args);
    check->status =
        status == STATUS_FAIL && public_only[verdict->row] && !verdict->public ? STATUS_WARN : status;
}
