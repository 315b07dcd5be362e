/* The doctor's report as a person reads it. */
#ifndef BERTHOS_CLI_DOCTOR_TABLE_H
#define BERTHOS_CLI_DOCTOR_TABLE_H

#include "protocol/report.h"

/* "eligible for private intent", or how many rows stand against it. *Owned*. */
char *doctor_table_verdict(const struct report *report);

/* The rows and the verdict on stdout, in the terminal's width and colours. */
void doctor_table_print(const struct report *report);

#endif
