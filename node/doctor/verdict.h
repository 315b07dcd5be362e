/* What the row functions of the evaluation share. Private to doctor/. */
#ifndef BERTHOS_DOCTOR_VERDICT_H
#define BERTHOS_DOCTOR_VERDICT_H

#include "doctor/evaluate.h"

struct verdict {
    const struct config *config;
    const struct facts *facts;
    bool public; /* anything but private is judged as strictly as public */
    bool deep;   /* egress and confinement speak of the canary */
    struct report *report;
};

/* Sets a row; the last word counts. */
void verdict_say(struct verdict *verdict, enum report_row row, enum report_status status, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* What a row that only public intent requires becomes when it is not met. */
enum report_status verdict_public_only(const struct verdict *verdict);

void judge_capacity(struct verdict *verdict);
void judge_chassis(struct verdict *verdict);
void judge_availability(struct verdict *verdict);
void judge_confinement(struct verdict *verdict);

#endif
