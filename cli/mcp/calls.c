#include "mcp/calls.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sync.h"

struct mcp_calls {
    struct mcp_node *node; /* borrowed */
    mcp_calls_answer *answer;
    mcp_calls_progress *progress;
    void *context;
    unsigned threads_max;

    pthread_mutex_t mutex; /* guards what follows; never held while a call runs */
    pthread_cond_t changed;
    struct mcp_call *first; /* in the order of arrival */
    unsigned count;         /* in the list */
    unsigned answering;     /* out of the list, but not done with */
    unsigned idle;          /* threads that wait for a call */
    bool stopping;
    pthread_t threads[MCP_THREADS_MAX];
    unsigned thread_count;
};

struct mcp_calls *mcp_calls_new(struct mcp_node *node, unsigned threads, mcp_calls_answer *answer,
                                mcp_calls_progress *progress, void *context)
{
    struct mcp_calls *calls = memory_new(sizeof *calls);
    calls->node = node;
    calls->threads_max = threads < MCP_THREADS_MAX ? threads : MCP_THREADS_MAX;
    calls->answer = answer;
    calls->progress = progress;
    calls->context = context;
    pthread_mutex_init(&calls->mutex, NULL);
    sync_cond_init(&calls->changed);
    return calls;
}

void mcp_call_free(struct mcp_call *call)
{
    json_decref(call->id);
    json_decref(call->arguments);
    json_decref(call->token);
    free(call);
}

/* Whether nothing that came before is in the way. Called with the mutex held. */
static bool may_run(const struct mcp_calls *calls, const struct mcp_call *call)
{
    enum mcp_lane lane = call->tool->lane;
    for (const struct mcp_call *before = calls->first; before != call; before = before->next) {
        enum mcp_lane other = before->tool->lane;
        bool acts = other == MCP_LANE_ACT || other == MCP_LANE_LINGER;
        if (lane == MCP_LANE_LOOK && other == MCP_LANE_ACT)
            return false;
        if ((lane == MCP_LANE_ACT || lane == MCP_LANE_LINGER) && acts)
            return false;
    }
    return true;
}

static struct mcp_call *find_runnable(const struct mcp_calls *calls)
{
    for (struct mcp_call *call = calls->first; call; call = call->next)
        if (!call->running && may_run(calls, call))
            return call;
    return NULL;
}

/* Called with the mutex held. */
static void unlink_call(struct mcp_calls *calls, struct mcp_call *call)
{
    struct mcp_call **slot = &calls->first;
    while (*slot != call)
        slot = &(*slot)->next;
    *slot = call->next;
    calls->count--;
}

static void report_tick(void *context)
{
    const struct mcp_call *call = context;
    if (call->token && !atomic_load(&call->stop.stopped))
        call->calls->progress(call->calls->context, call);
}

/* Answers a call that has left the list, and lets go of it. Called without the mutex. */
static void finish_call(struct mcp_calls *calls, struct mcp_call *call, json_t *result)
{
    if (atomic_load(&call->stop.stopped)) {
        json_decref(result);
        result = NULL;
    }
    calls->answer(calls->context, call, result);
    mcp_call_free(call);
    LOCK_SCOPE(&calls->mutex);
    calls->answering--;
    pthread_cond_broadcast(&calls->changed);
}

static void run_call(struct mcp_calls *calls, struct mcp_call *call)
{
    struct mcp_call_context context = {.tool = call->tool,
                                       .node = calls->node,
                                       .stop = &call->stop,
                                       .tick = report_tick,
                                       .tick_context = call,
                                       .duration_ms = &call->duration_ms};
    json_t *result = mcp_tools_call(&context, call->arguments, call->revision);
    pthread_mutex_lock(&calls->mutex);
    unlink_call(calls, call);
    calls->answering++;
    pthread_cond_broadcast(&calls->changed); /* others may run now */
    pthread_mutex_unlock(&calls->mutex);
    finish_call(calls, call, result);
}

static void *run_thread(void *argument)
{
    struct mcp_calls *calls = argument;
    pthread_mutex_lock(&calls->mutex);
    while (!calls->stopping) {
        struct mcp_call *call = find_runnable(calls);
        if (!call) {
            calls->idle++;
            sync_cond_wait(&calls->changed, &calls->mutex, CLOCK_NEVER);
            calls->idle--;
            continue;
        }
        call->running = true;
        pthread_mutex_unlock(&calls->mutex);
        run_call(calls, call);
        pthread_mutex_lock(&calls->mutex);
    }
    pthread_mutex_unlock(&calls->mutex);
    return NULL;
}

/* Called with the mutex held. A thread that cannot be started leaves the call to the others. */
static void add_thread(struct mcp_calls *calls)
{
    struct error ignored = ERROR_INIT;
    if (calls->idle == 0 && calls->thread_count < calls->threads_max &&
        sync_thread_start(&calls->threads[calls->thread_count], "mcp-call", run_thread, calls, &ignored) == 0)
        calls->thread_count++;
}

bool mcp_calls_add(struct mcp_calls *calls, struct mcp_call *call)
{
    call->calls = calls;
    call->started_ms = clock_monotonic_ms();
    pthread_mutex_lock(&calls->mutex);
    bool room = !calls->stopping && calls->count < MCP_CALLS_MAX;
    if (room) {
        struct mcp_call **slot = &calls->first;
        while (*slot)
            slot = &(*slot)->next;
        *slot = call;
        calls->count++;
        call->running = calls->threads_max == 0;
        add_thread(calls);
        pthread_cond_broadcast(&calls->changed);
    }
    pthread_mutex_unlock(&calls->mutex);
    if (room && calls->threads_max == 0)
        run_call(calls, call);
    return room;
}

bool mcp_calls_has(struct mcp_calls *calls, const json_t *id)
{
    LOCK_SCOPE(&calls->mutex);
    for (const struct mcp_call *call = calls->first; call; call = call->next)
        if (json_equal(call->id, id))
            return true;
    return false;
}

/*
 * Stops the calls of an id, or all of them where it is NULL. Gives one that never ran: it has left the list
 * here, and with it what stood in others' way. NULL where there is none. Called with the mutex held; the
 * node's lock comes after ours.
 */
static struct mcp_call *stop_calls(struct mcp_calls *calls, const json_t *id)
{
    struct mcp_call *waiting = NULL;
    for (struct mcp_call *call = calls->first; call; call = call->next) {
        if (id && !json_equal(call->id, id))
            continue;
        mcp_node_stop(calls->node, &call->stop);
        if (!call->running && !waiting)
            waiting = call;
    }
    if (waiting) {
        unlink_call(calls, waiting);
        calls->answering++;
    }
    pthread_cond_broadcast(&calls->changed);
    return waiting;
}

static void stop_and_finish(struct mcp_calls *calls, const json_t *id, bool for_good)
{
    struct mcp_call *waiting;
    do {
        pthread_mutex_lock(&calls->mutex);
        calls->stopping = calls->stopping || for_good;
        waiting = stop_calls(calls, id);
        pthread_mutex_unlock(&calls->mutex);
        if (waiting)
            finish_call(calls, waiting, NULL);
    } while (waiting);
}

void mcp_calls_cancel(struct mcp_calls *calls, const json_t *id)
{
    stop_and_finish(calls, id, false);
}

bool mcp_calls_wait(struct mcp_calls *calls, int64_t deadline_ms)
{
    LOCK_SCOPE(&calls->mutex);
    while (calls->count > 0 || calls->answering > 0)
        if (!sync_cond_wait(&calls->changed, &calls->mutex, deadline_ms))
            return calls->count == 0 && calls->answering == 0;
    return true;
}

void mcp_calls_stop(struct mcp_calls *calls)
{
    stop_and_finish(calls, NULL, true);
}

void mcp_calls_free(struct mcp_calls *calls)
{
    mcp_calls_stop(calls);
    for (unsigned i = 0; i < calls->thread_count; i++)
        pthread_join(calls->threads[i], NULL);
    pthread_cond_destroy(&calls->changed);
    pthread_mutex_destroy(&calls->mutex);
    free(calls);
}
