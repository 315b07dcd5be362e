#include "mcp/server.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/memory.h"
#include "base/text.h"
#include "mcp/calls.h"
#include "mcp/message.h"
#include "mcp/revision.h"
#include "mcp/tools.h"

/* Keys of _meta in the stateless era. */
#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER       "io.modelcontextprotocol/serverInfo"

/* The list of tools is that of the program: it may be kept for an hour, by everybody. */
enum { LIST_TTL_MS = 3600 * 1000 };

struct mcp_server {
    struct mcp_calls *calls;
    mcp_write *write;
    void *write_context;
    const struct mcp_revision
        *session;          /* agreed on by initialize; NULL before. Of the reading thread alone */
    pthread_mutex_t mutex; /* guards writing and the batches */
};

/* An array of messages (2025-03-26): its answers go out together when the last is there. */
struct mcp_batch {
    json_t *answers; /* owned */
    size_t awaited;  /* answers to come, and one for the reading of the array itself */
};

/* Called with the mutex held. */
static void write_message(struct mcp_server *server, const json_t *message)
{
    server->write(server->write_context, document_text(message));
}

/* One answer more to wait for, where there is a batch. */
static void await_answer(struct mcp_server *server, struct mcp_batch *batch)
{
    LOCK_SCOPE(&server->mutex);
    if (batch)
        batch->awaited++;
}

/* One answer less. */
static void end_batch(struct mcp_server *server, struct mcp_batch *batch)
{
    LOCK_SCOPE(&server->mutex);
    if (!batch || --batch->awaited > 0)
        return;
    if (json_array_size(batch->answers) > 0)
        write_message(server, batch->answers);
    json_decref(batch->answers);
    free(batch);
}

/* Sends an answer, at once or with its batch. A reference that is taken over. */
static void send_reply(struct mcp_server *server, struct mcp_batch *batch, json_t *answer)
{
    LOCK_SCOPE(&server->mutex);
    if (batch)
        json_array_append(batch->answers, answer);
    else
        write_message(server, answer);
    json_decref(answer);
}

static void send_error(struct mcp_server *server, struct mcp_batch *batch, const json_t *id,
                       enum mcp_code code, const char *sentence)
{
    send_reply(server, batch, mcp_error(id, code, sentence, NULL));
}

static json_t *describe_server(const struct mcp_revision *revision)
{
    return json_pack("{s:s, s:s, s:s*, s:s*}", "name", "berthos", "version", BERTHOS_VERSION, "title",
                     revision->structured ? "Berthos desktop" : NULL, "description",
                     revision->described_server ? "Eyes and hands on a leased Linux desktop without a network"
                                                : NULL);
}

/* Adds what the revision wants in each result. */
static json_t *dress_result(json_t *result, const struct mcp_revision *revision)
{
    if (!revision->stateless)
        return result;
    if (!json_object_get(result, "_meta"))
        json_object_set_new(result, "_meta", json_object());
    json_object_set_new(json_object_get(result, "_meta"), META_SERVER, describe_server(revision));
    json_object_set_new(result, "resultType", json_string("complete"));
    return result;
}

static json_t *allow_caching(json_t *result, const struct mcp_revision *revision)
{
    if (revision->stateless) {
        json_object_set_new(result, "ttlMs", json_integer(LIST_TTL_MS));
        json_object_set_new(result, "cacheScope", json_string("public"));
    }
    return result;
}

/* What a request is answered by; borrowed. */
struct exchange {
    struct mcp_server *server;
    struct mcp_batch *batch;
    const struct mcp_message *message;
    const struct mcp_revision *revision; /* NULL where nothing has been agreed on */
};

/* What serves a request gives the answer, a new reference; NULL when it comes later. */
typedef json_t *serve_request(struct exchange *exchange);

static json_t *make_answer(const struct exchange *exchange, json_t *result)
{
    return mcp_answer(exchange->message->id, dress_result(result, exchange->revision));
}

static json_t *refuse_request(const struct exchange *exchange, enum mcp_code code, const char *sentence)
{
    return mcp_error(exchange->message->id, code, sentence, NULL);
}

static json_t *serve_initialize(struct exchange *exchange)
{
    const char *asked = json_string_value(json_object_get(exchange->message->params, "protocolVersion"));
    if (exchange->batch)
        return refuse_request(exchange, MCP_INVALID_REQUEST, "initialize does not come in a batch");
    if (!asked)
        return refuse_request(exchange, MCP_INVALID_PARAMS,
                              "initialize needs the string \"protocolVersion\"");
    const struct mcp_revision *revision = mcp_revision_find(asked);
    if (!revision || revision->stateless)
        revision = mcp_revision_latest_initialized();
    exchange->server->session = revision;
    return mcp_answer(exchange->message->id,
                      json_pack("{s:s, s:{s:{}}, s:o, s:s}", "protocolVersion", revision->name,
                                "capabilities", "tools", "serverInfo", describe_server(revision),
                                "instructions", mcp_tools_instructions()));
}

static json_t *serve_ping(struct exchange *exchange)
{
    return make_answer(exchange, json_object());
}

static json_t *serve_discover(struct exchange *exchange)
{
    json_t *result = json_pack("{s:o, s:{s:{}}, s:s}", "supportedVersions", mcp_revision_names(),
                               "capabilities", "tools", "instructions", mcp_tools_instructions());
    return make_answer(exchange, allow_caching(result, exchange->revision));
}

static json_t *serve_list(struct exchange *exchange)
{
    const json_t *cursor = json_object_get(exchange->message->params, "cursor");
    if (cursor && !json_is_null(cursor))
        return refuse_request(exchange, MCP_INVALID_PARAMS, "there is one page of tools, and so no cursor");
    return make_answer(exchange, allow_caching(mcp_tools_list(exchange->revision), exchange->revision));
}

static json_t *serve_call(struct exchange *exchange)
{
    const json_t *params = exchange->message->params;
    struct mcp_server *server = exchange->server;
    const char *name = json_string_value(json_object_get(params, "name"));
    json_t *arguments = json_object_get(params, "arguments");
    json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
    const struct mcp_tool *tool = name ? mcp_tools_find(name) : NULL;
    if (!tool) {
        CLEANUP_FREE char *sentence = name ? text_format("Unknown tool: %.64s", name)
                                           : text_copy("tools/call needs the string \"name\"");
        return refuse_request(exchange, MCP_INVALID_PARAMS, sentence);
    }
    if (arguments && !json_is_object(arguments) && !json_is_null(arguments))
        return refuse_request(exchange, MCP_INVALID_PARAMS, "\"arguments\" must be an object");
    if (mcp_calls_has(server->calls, exchange->message->id))
        return refuse_request(exchange, MCP_INVALID_REQUEST, "a call with this id is still under way");
    struct mcp_call *call = memory_new(sizeof *call);
    /* Copies: nothing of the message is shared with the thread of the call. */
    call->id = json_deep_copy(exchange->message->id);
    call->arguments = json_is_object(arguments) ? json_deep_copy(arguments) : NULL;
    call->token = mcp_id_valid(token) ? json_deep_copy(token) : NULL;
    call->tool = tool;
    call->revision = exchange->revision;
    call->batch = exchange->batch;
    await_answer(server, call->batch);
    if (mcp_calls_add(server->calls, call))
        return NULL;
    struct mcp_fault fault = MCP_FAULT_INIT;
    mcp_fault_set(&fault, "too_many");
    end_batch(server, call->batch); /* not the last: the array itself is still being read */
    mcp_call_free(call);
    return make_answer(exchange, mcp_fault_result(&fault));
}

/* Which requests there are, and in which era. */
static const struct {
    const char *method;
    bool initialized, stateless;
    serve_request *serve;
} methods[] = {
    {"ping", true, false, serve_ping},
    {"server/discover", false, true, serve_discover},
    {"tools/list", true, true, serve_list},
    {"tools/call", true, true, serve_call},
};

static json_t *serve_method(struct exchange *exchange)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].method, exchange->message->method) == 0 &&
            (exchange->revision->stateless ? methods[i].stateless : methods[i].initialized))
            return methods[i].serve(exchange);
    CLEANUP_FREE char *sentence = text_format("Method not found: %.64s", exchange->message->method);
    return refuse_request(exchange, MCP_METHOD_NOT_FOUND, sentence);
}

/* A request that says of which revision it is. */
static json_t *serve_stateless(struct exchange *exchange)
{
    const json_t *meta = json_object_get(exchange->message->params, "_meta");
    const char *name = json_string_value(json_object_get(meta, META_VERSION));
    if (!name)
        return refuse_request(exchange, MCP_INVALID_PARAMS, "_meta needs the string \"" META_VERSION "\"");
    exchange->revision = mcp_revision_find(name);
    if (!exchange->revision || !exchange->revision->stateless)
        return mcp_error(exchange->message->id, MCP_UNSUPPORTED_VERSION, "Unsupported protocol version",
                         json_pack("{s:o, s:s}", "supported", mcp_revision_names(), "requested", name));
    if (exchange->batch)
        return refuse_request(exchange, MCP_INVALID_REQUEST, "this revision of the protocol has no batches");
    if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
        return refuse_request(exchange, MCP_INVALID_PARAMS,
                              "_meta needs the object \"" META_CAPABILITIES "\"");
    return serve_method(exchange);
}

/* A request of the session, which `initialize` begins. */
static json_t *serve_session(struct exchange *exchange)
{
    static const struct mcp_revision none = {.name = ""};
    if (strcmp(exchange->message->method, "initialize") == 0)
        return serve_initialize(exchange);
    if (!exchange->revision && strcmp(exchange->message->method, "ping") == 0)
        exchange->revision = &none; /* may come before initialize */
    if (exchange->revision)
        return serve_method(exchange);
    return refuse_request(exchange, MCP_INVALID_PARAMS,
                          "no initialize came before, and _meta lacks \"" META_VERSION
                          "\": one of them is needed");
}

static void take_request(struct mcp_server *server, struct mcp_batch *batch,
                         const struct mcp_message *message)
{
    struct exchange exchange = {
        .server = server, .batch = batch, .message = message, .revision = server->session};
    const json_t *meta = json_object_get(message->params, "_meta");
    bool stateless = json_object_get(meta, META_VERSION) || json_object_get(meta, META_CAPABILITIES);
    json_t *answer = stateless ? serve_stateless(&exchange) : serve_session(&exchange);
    if (answer)
        send_reply(server, batch, answer);
}

static void take_notification(struct mcp_server *server, const struct mcp_message *message)
{
    const json_t *id = json_object_get(message->params, "requestId");
    if (strcmp(message->method, "notifications/cancelled") == 0 && mcp_id_valid(id))
        mcp_calls_cancel(server->calls, id);
}

static void take_message(struct mcp_server *server, struct mcp_batch *batch, const json_t *value)
{
    struct mcp_message message = mcp_message_read(value);
    switch (message.kind) {
    case MCP_REQUEST:
        take_request(server, batch, &message);
        break;
    case MCP_NOTIFICATION:
        take_notification(server, &message);
        break;
    case MCP_RESPONSE: /* we ask for nothing */
        break;
    case MCP_INVALID:
        send_error(server, batch, message.id, MCP_INVALID_REQUEST, message.fault);
        break;
    }
}

static void take_batch(struct mcp_server *server, const json_t *array)
{
    if (!server->session || !server->session->batches) {
        send_error(server, NULL, NULL, MCP_INVALID_REQUEST, "this revision of the protocol has no batches");
        return;
    }
    if (json_array_size(array) == 0) {
        send_error(server, NULL, NULL, MCP_INVALID_REQUEST, "a batch has at least one message");
        return;
    }
    struct mcp_batch *batch = memory_new(sizeof *batch);
    batch->answers = json_array();
    batch->awaited = 1;
    for (size_t i = 0; i < json_array_size(array); i++)
        take_message(server, batch, json_array_get(array, i));
    end_batch(server, batch);
}

void mcp_server_line(struct mcp_server *server, const char *line, size_t size)
{
    size_t blank = 0;
    while (blank < size && strchr(" \t\r", line[blank]) && line[blank])
        blank++;
    if (blank == size)
        return;
    /* Any value is JSON; that a number is no message is another fault than to be no JSON. */
    CLEANUP_JSON json_t *value = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!value)
        send_error(server, NULL, NULL, MCP_PARSE_ERROR, "a line is one JSON value, and this is none");
    else if (json_is_array(value))
        take_batch(server, value);
    else
        take_message(server, NULL, value);
}

void mcp_server_long_line(struct mcp_server *server)
{
    send_error(server, NULL, NULL, MCP_INVALID_REQUEST, "a line is at most 1 MiB; this one was dropped");
}

/* A call is done; `result` is NULL where it was cancelled. */
static void call_done(void *context, struct mcp_call *call, json_t *result)
{
    struct mcp_server *server = context;
    if (result)
        send_reply(server, call->batch, mcp_answer(call->id, dress_result(result, call->revision)));
    end_batch(server, call->batch);
}

static void call_progress(void *context, const struct mcp_call *call)
{
    struct mcp_server *server = context;
    int64_t passed_ms = clock_monotonic_ms() - call->started_ms;
    if (call->duration_ms > 0 && passed_ms >= call->duration_ms)
        return; /* progress goes on to the total, not beyond */
    int passed_s = (int)(passed_ms / 1000), total_s = (int)(call->duration_ms / 1000);
    CLEANUP_FREE char *text =
        total_s ? text_format("%d s of at most %d s", passed_s, total_s) : text_format("%d s", passed_s);
    CLEANUP_JSON json_t *message = json_pack("{s:s, s:s, s:{s:O, s:I, s:o*, s:s*}}", "jsonrpc", "2.0",
                                             "method", "notifications/progress", "params", "progressToken",
                                             call->token, "progress", (json_int_t)passed_ms, "total",
                                             call->duration_ms > 0 ? json_integer(call->duration_ms) : NULL,
                                             "message", call->revision->annotations ? text : NULL);
    LOCK_SCOPE(&server->mutex);
    write_message(server, message);
}

struct mcp_server *mcp_server_new(struct mcp_node *node, unsigned threads, mcp_write *write, void *context)
{
    struct mcp_server *server = memory_new(sizeof *server);
    server->write = write;
    server->write_context = context;
    pthread_mutex_init(&server->mutex, NULL);
    server->calls = mcp_calls_new(node, threads, call_done, call_progress, server);
    return server;
}

bool mcp_server_wait(struct mcp_server *server, int64_t deadline_ms)
{
    return mcp_calls_wait(server->calls, deadline_ms);
}

void mcp_server_stop(struct mcp_server *server)
{
    mcp_calls_stop(server->calls);
}

void mcp_server_free(struct mcp_server *server)
{
    if (!server)
        return;
    mcp_calls_free(server->calls);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}
