/* The node's side of the helper (helper.h) over any agent, so that tests can be the agent. Private to guest/.
 */
#ifndef BERTHOS_GUEST_HELPER_RUN_H
#define BERTHOS_GUEST_HELPER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Where images have the helper: a contract with those that are built already (docs/IMAGE.md). */
#define HELPER_PATH "/usr/lib/berthos/hands"

/* Asked now and then whether to give up; from the calling thread. */
typedef bool helper_cancelled(void *context);

/* One command (JSON) to a guest agent; its answer's text (*owned*), or NULL with an error. */
typedef char *helper_ask(void *agent, const char *command, int64_t timeout_ms, struct error *err);

/* One run of the helper. Strings are borrowed. */
struct helper_run {
    helper_ask *ask;
    void *agent;
    const char *const *arguments; /* the verb and what follows, NULL-terminated */
    const char *input;            /* its standard input; NULL for none */
    size_t input_size;
    size_t characters; /* code points of input: the bound of what can have been typed */
    helper_cancelled *cancelled;
    void *context;
    int64_t deadline_ms;
};

/* Runs the helper to its end. *typed and errors as guest_helper_type() says. */
int helper_run(const struct helper_run *run, size_t *typed, struct error *err);

/* What guest-exec-status said: not yet ended, or ended with these words of the helper. */
struct helper_status {
    bool exited, ok;
    size_t typed;
    char phrase[120]; /* why not; printable ASCII */
};

/*
 * Reads an answer to guest-exec-status. 0, or -1 with ERROR_GUEST_FAILED when it is anything but what the
 * agent and the helper can say; `characters` bounds status->typed.
 */
int helper_read_status(const char *answer, size_t characters, struct helper_status *status,
                       struct error *err);

#endif
