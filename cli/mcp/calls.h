/*
 * Tool calls that are under way: which may run now, and the threads that run them.
 *
 * Calls are kept in the order in which they came. An act waits for all earlier acts, so that a click does not
 * overtake what was typed before it; a look waits for earlier acts, so that it shows what they did, but for
 * none that merely takes time (a wait, a held key). A thread is only taken by a call that may run.
 */
#ifndef BERTHOS_CLI_MCP_CALLS_H
#define BERTHOS_CLI_MCP_CALLS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "mcp/node.h"
#include "mcp/tools.h"

enum { MCP_CALLS_MAX = 64, MCP_THREADS_MAX = 8 };

struct mcp_batch; /* of messages; see server.c */

/* One call. Made by the server, owned by the calls from mcp_calls_add() on. */
struct mcp_call {
    json_t *id;        /* owned */
    json_t *arguments; /* NULL for none. Owned */
    json_t *token;     /* for progress; NULL for none. Owned */
    const struct mcp_tool *tool;
    const struct mcp_revision *revision;
    struct mcp_batch *batch; /* NULL outside of one */
    struct mcp_stop stop;
    int64_t started_ms;  /* clock_monotonic_ms() */
    int64_t duration_ms; /* how long it means to take; 0 where nothing says */
    bool running;
    struct mcp_calls *calls;
    struct mcp_call *next;
};

struct mcp_calls;

/*
 * What a call has come to. result: a reference that is taken over; NULL for a call that was cancelled, which
 * is not answered. Called from the thread of the call, after it has left the list.
 */
typedef void mcp_calls_answer(void *context, struct mcp_call *call, json_t *result);

/* Another second of a call that waits and has a progress token. */
typedef void mcp_calls_progress(void *context, const struct mcp_call *call);

/* threads: 0 runs each call inside mcp_calls_add(). node is borrowed. *Owned*. */
struct mcp_calls *mcp_calls_new(struct mcp_node *node, unsigned threads, mcp_calls_answer *answer,
                                mcp_calls_progress *progress, void *context);

/* Takes a call over. False, and the call stays the caller's, when there are too many. */
bool mcp_calls_add(struct mcp_calls *calls, struct mcp_call *call);

/* Whether a call with this id is under way. */
bool mcp_calls_has(struct mcp_calls *calls, const json_t *id);

/* Cancels a call; an id that is not under way means nothing. */
void mcp_calls_cancel(struct mcp_calls *calls, const json_t *id);

/* Waits until none is under way. False when the deadline (base/clock.h) passes before. */
bool mcp_calls_wait(struct mcp_calls *calls, int64_t deadline_ms);

/* Cancels all and takes no more. */
void mcp_calls_stop(struct mcp_calls *calls);

void mcp_call_free(struct mcp_call *call);

/* Only when none is under way. */
void mcp_calls_free(struct mcp_calls *calls);

#endif
