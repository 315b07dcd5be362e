/* Running another program to its end, with a deadline and its output held. */
#ifndef BERTHOS_BASE_PROCESS_H
#define BERTHOS_BASE_PROCESS_H

#include <stdint.h>

#include "base/error.h"

/*
 * Runs argv[0] (looked up in PATH; argv ends with NULL) with no input, C locale, and no descriptor of ours
 * but its own output. output: NULL, or where to put what it wrote to stdout and stderr, at most 64 KiB (owned
 * by the caller, set on success only). Returns 0 when it exits with 0; else -1 with ERROR_INTERNAL and the
 * last line it wrote, or ERROR_TIMEOUT when it was killed after timeout_ms.
 */
int process_run(const char *const argv[], int64_t timeout_ms, char **output, struct error *err);

#endif
