/* What the judges of the rows share. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_VERDICT_H
#define BERTHOS_DOCTOR_VERDICT_H

#include <stdbool.h>

#include "config/config.h"
#include "doctor/facts.h"
#include "protocol/report.h"

/* The slowest turn of the two-instruction loop that counts as hardware: a hundred times a usual one, a
 * twentieth of what a device that only emulates was seen to need. */
#define KVM_TURN_MAX_NS 50

struct verdict {
    const struct config *config;
    const struct facts *facts;
    bool public; /* anything but private is judged as strictly as public */
    bool deep;   /* egress and confinement speak of the canary */
    struct report *report;
    enum report_row row; /* that is being judged */
};

/* Sets the row that is being judged; the last word counts. What fails in a row that only public intent
 * requires is a warning in private. */
void verdict_say(struct verdict *verdict, enum report_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define verdict_pass(verdict, ...) verdict_say(verdict, STATUS_PASS, __VA_ARGS__)
#define verdict_warn(verdict, ...) verdict_say(verdict, STATUS_WARN, __VA_ARGS__)
#define verdict_fail(verdict, ...) verdict_say(verdict, STATUS_FAIL, __VA_ARGS__)

/* The judge of each row is judge_<its word>(), in one of the files judge_*.c. */
#define VERDICT_JUDGE(row, word, required) void judge_##word(struct verdict *verdict);
REPORT_ROWS(VERDICT_JUDGE)

#endif
