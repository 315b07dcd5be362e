/*
 * One run of the in-guest helper: guest-exec, then guest-exec-status until it has ended.
 *
 * The first looks come after a millisecond or two, because most runs are short; the pauses grow, because each
 * look takes the guest some milliseconds away. A run that is given up is told so by the verb "release" and
 * watched a little longer: only its own last words say how much of a text arrived.
 */
#include "guest/helper_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"

enum { ASK_MS = 10000, FIRST_PAUSE_MS = 1, LAST_PAUSE_MS = 40, RELEASE_MS = 4000 };
enum { ANSWER_MAX_BYTES = 64 << 10, WORDS_MAX_BYTES = 1024 };

/* The helper's words for a text that nobody there can take; the only ones that mean something to the node. */
#define NO_FIELD "no text field has the focus"

static char *exec_command(const struct helper_run *run)
{
    json_t *words = json_array();
    for (size_t i = 0; run->arguments[i]; i++)
        json_array_append_new(words, json_string(run->arguments[i]));
    CLEANUP_JSON json_t *command = json_pack("{s:s, s:{s:s, s:o, s:b}}", "execute", "guest-exec", "arguments",
                                             "path", HELPER_PATH, "arg", words, "capture-output", 1);
    if (run->input) {
        CLEANUP_FREE char *text = base64_encode(run->input, run->input_size);
        json_object_set_new(json_object_get(command, "arguments"), "input-data", json_string(text));
    }
    return document_text(command);
}

/* The `return` object of an agent's answer, whose document the caller owns; NULL with an error. */
static json_t *parse_answer(const char *answer, json_t **document, struct error *err)
{
    struct error reason = ERROR_INIT;
    size_t size = strnlen(answer, ANSWER_MAX_BYTES + 1);
    json_t *object = NULL;
    *document = size <= ANSWER_MAX_BYTES ? document_parse(answer, size, &reason) : NULL;
    if (*document)
        object = json_object_get(*document, "return");
    if (!json_is_object(object)) {
        error_set(err, ERROR_GUEST_FAILED, "the guest agent's answer about the input helper is not one");
        return NULL;
    }
    return object;
}

static bool is_printable(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return length > 0;
}

static int read_words(const char *encoded, size_t characters, struct helper_status *status, struct error *err)
{
    size_t size = 0;
    CLEANUP_JSON json_t *document = NULL;
    struct error reason = ERROR_INIT;
    const char *phrase = "";
    int64_t typed = 0;
    CLEANUP_FREE unsigned char *data =
        strlen(encoded) <= 2 * WORDS_MAX_BYTES ? base64_decode(encoded, &size, &reason) : NULL;
    bool good = data && size <= WORDS_MAX_BYTES &&
                (document = document_parse((const char *)data, size, &reason)) &&
                document_bool(document, "ok", &status->ok, &reason) == 0;
    if (good && !status->ok)
        good = document_maybe_integer(document, "typed", 0, (int64_t)characters, &typed, &reason) == 0 &&
               document_string(document, "error", &phrase, &reason) == 0 && is_printable(phrase);
    if (!good)
        return error_set(err, ERROR_GUEST_FAILED, "the guest's input helper gave no answer of its kind");
    status->typed = status->ok ? characters : (size_t)typed;
    snprintf(status->phrase, sizeof status->phrase, "%s", phrase);
    return 0;
}

int helper_read_status(const char *answer, size_t characters, struct helper_status *status, struct error *err)
{
    CLEANUP_JSON json_t *document = NULL;
    struct error reason = ERROR_INIT;
    const char *words = "";
    json_t *object = parse_answer(answer, &document, err);
    *status = (struct helper_status){0};
    if (!object)
        return -1;
    if (document_bool(object, "exited", &status->exited, &reason) < 0)
        return error_set(err, ERROR_GUEST_FAILED,
                         "the guest agent does not say whether the input helper ended");
    if (!status->exited)
        return 0;
    if (document_maybe_string(object, "out-data", &words, &reason) < 0 || words[0] == '\0')
        return error_set(
            err, ERROR_GUEST_FAILED,
            "the guest's input helper ended without a word; somebody in the guest may have ended it");
    return read_words(words, characters, status, err);
}

/* Starts the helper. Its process in the guest, or -1. */
static int64_t start_helper(const struct helper_run *run, int64_t timeout_ms, struct error *err)
{
    CLEANUP_FREE char *command = exec_command(run);
    CLEANUP_FREE char *answer = run->ask(run->agent, command, timeout_ms, err);
    CLEANUP_JSON json_t *document = NULL;
    struct error reason = ERROR_INIT;
    int64_t pid = 0;
    if (!answer)
        return error_prefix(err, "the guest's input helper cannot be started");
    json_t *object = parse_answer(answer, &document, err);
    if (!object)
        return -1;
    if (document_integer(object, "pid", 1, INT64_C(1) << 40, &pid, &reason) < 0)
        return error_set(err, ERROR_GUEST_FAILED, "the guest agent names no process of the input helper");
    return pid;
}

static int ask_status(const struct helper_run *run, int64_t pid, int64_t timeout_ms,
                      struct helper_status *status, struct error *err)
{
    CLEANUP_JSON json_t *command =
        json_pack("{s:s, s:{s:I}}", "execute", "guest-exec-status", "arguments", "pid", (json_int_t)pid);
    CLEANUP_FREE char *text = document_text(command);
    CLEANUP_FREE char *answer = run->ask(run->agent, text, timeout_ms, err);
    return answer ? helper_read_status(answer, run->characters, status, err) : -1;
}

/* How long the agent may take for one answer. */
static int64_t patience_ms(int64_t deadline_ms)
{
    int64_t left_ms = clock_left_ms(deadline_ms);
    return left_ms < 1000 ? 1000 : left_ms > ASK_MS ? ASK_MS : left_ms;
}

/* Looks until the helper has ended, the deadline has passed or the caller gives up; status->exited tells. */
static int follow_helper(const struct helper_run *run, int64_t pid, int64_t deadline_ms, bool may_cancel,
                         struct helper_status *status, struct error *err)
{
    for (int64_t pause_ms = FIRST_PAUSE_MS;;
         pause_ms = 2 * pause_ms < LAST_PAUSE_MS ? 2 * pause_ms : LAST_PAUSE_MS) {
        clock_sleep_ms(pause_ms);
        if (ask_status(run, pid, patience_ms(deadline_ms), status, err) < 0)
            return -1;
        if (status->exited || clock_left_ms(deadline_ms) == 0 ||
            (may_cancel && run->cancelled && run->cancelled(run->context)))
            return 0;
    }
}

/* Has the helper give up what it does and lift what it holds; what comes of it is not waited for. */
static void release_helper(const struct helper_run *run)
{
    static const char *const arguments[] = {"release", NULL};
    const struct helper_run release = {.ask = run->ask, .agent = run->agent, .arguments = arguments};
    struct error ignored = ERROR_INIT;
    start_helper(&release, RELEASE_MS, &ignored);
}

int helper_run(const struct helper_run *run, size_t *typed, struct error *err)
{
    struct helper_status status = {0};
    *typed = 0;
    int64_t pid = start_helper(run, patience_ms(run->deadline_ms), err);
    if (pid < 0) {
        release_helper(run); /* it may have started after all */
        return -1;
    }
    int followed = follow_helper(run, pid, run->deadline_ms, true, &status, err);
    bool given_up = followed == 0 && !status.exited;
    if (followed < 0 || given_up)
        release_helper(run);
    if (followed < 0 ||
        (given_up && follow_helper(run, pid, clock_deadline(RELEASE_MS), false, &status, err) < 0))
        return -1;
    *typed = status.typed;
    if (status.exited && status.ok)
        return 0;
    if (given_up)
        return error_set(err, ERROR_TIMEOUT, "the input was given up after %zu of %zu characters",
                         status.typed, run->characters);
    return error_set(err, strcmp(status.phrase, NO_FIELD) == 0 ? ERROR_UNTYPABLE : ERROR_GUEST_FAILED,
                     "the guest could not take the input (%zu of %zu characters were entered): %s",
                     status.typed, run->characters, status.phrase);
}
