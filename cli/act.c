/* berth act: does something in the guest as a person at its screen would. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/memory.h"
#include "base/text.h"
#include "command.h"
#include "protocol/action.h"

enum { INPUT_MAX_BYTES = 1024 * 1024 };

struct act_arguments {
    struct usage_common common;
    const char *action;
};

static const struct usage_row rows[] = {
    {NULL, "JSON", "the action is missing", usage_text, AT(act, action)},
    {"json", NULL, "The answer is JSON with or without it", usage_flag, AT_COMMON(json)},
    {0},
};

/* The table of actions, a line for each op: what can be asked for stands where one looks first. */
static char *list_actions(void)
{
    size_t count;
    const struct action_op *ops = action_ops(&count);
    struct text_buffer list = {0};
    text_append(&list, "Actions and their fields (those with ? may be left out):\n");
    for (size_t i = 0; i < count; i++) {
        text_append(&list, "  %s", ops[i].name);
        for (size_t j = 0; j < ops[i].field_count; j++)
            text_append(&list, " %s%s", ops[i].fields[j].name, ops[i].fields[j].optional ? "?" : "");
        text_append(&list, "\n");
    }
    return list.text;
}

/* Reads stdin, bounded. *Owned*, or NULL. */
static char *read_input(size_t *size, struct error *err)
{
    CLEANUP_FREE char *text = memory_new(INPUT_MAX_BYTES + 1);
    *size = fread(text, 1, INPUT_MAX_BYTES + 1, stdin);
    if (ferror(stdin)) {
        error_set_errno(err, ERROR_INTERNAL, errno, "cannot read stdin");
        return NULL;
    }
    if (*size > INPUT_MAX_BYTES) {
        error_set(err, ERROR_TOO_LARGE, "what stdin gives is larger than the %d bytes that a node takes",
                  INPUT_MAX_BYTES);
        return NULL;
    }
    return TAKE(text);
}

static json_t *read_action(const char *argument, struct error *err)
{
    size_t size = strlen(argument);
    CLEANUP_FREE char *text = strcmp(argument, "-") == 0 ? read_input(&size, err) : text_copy(argument);
    json_t *action = text ? document_parse(text, size, err) : NULL;
    if (text && !action)
        error_prefix(err, "the action");
    return action;
}

static int run_act(struct session *none, const void *arguments, struct error *err)
{
    (void)none; /* what is wrong with the action is told before a node is asked for */
    const struct act_arguments *given = arguments;
    CLEANUP_JSON json_t *action = read_action(given->action, err);
    if (!action) {
        terminal_fail(err);
        return EXIT_USAGE;
    }
    CLEANUP_SESSION struct session *session =
        session_open(given->common.url, given->common.lease, SESSION_LEASE, err);
    if (!session)
        return -1;
    CLEANUP_FREE char *path = text_format("/v1/leases/%s/actions", session->lease);
    /* Long texts, holds and waits take their time; the node bounds each. */
    struct client_request request = {
        .method = "POST", .path = path, .body = action, .timeout_ms = CLIENT_NO_TIMEOUT};
    CLEANUP_JSON json_t *answer = client_ask(session->client, &request, err);
    /* Always the document: what an action answers (a position, a changed region) is for it to say. */
    return answer ? terminal_document(answer) : -1;
}

const struct command command_act = {
    NULL,
    "act",
    "Click, type and press keys in the guest",
    .usage = {.takes = TAKES_URL | TAKES_LEASE,
              .rows = rows,
              .size = sizeof(struct act_arguments),
              .help =
                  "Do an action in the guest, or {\"actions\": [...]} one after the other until one fails. "
                  "JSON may be -, then it is read from stdin. Without LEASE it is the only live one.",
              .list = list_actions,
              .examples = "berth act '{\"op\": \"click\", \"x\": 640, \"y\": 400}'\n"
                          "berth act '{\"op\": \"type\", \"text\": \"hello\"}'\n"
                          "berth act '{\"op\": \"key\", \"keys\": [\"ctrl+l\", \"Return\"]}'\n"
                          "berth act - < actions.json"},
    .run = run_act,
};
