/*
 * The server without threads, against a node of a test's own: what each line gives. live.mcp_protocol speaks
 * to the program; here are the parts of which every branch can be had, and what the fuzz target builds on.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "mcp/input.h"
#include "mcp/message.h"
#include "mcp/picture.h"
#include "mcp/revision.h"
#include "mcp/server.h"
#include "mcp/tools.h"

#define LEASE "l_00000000000000000000000000000000"

/* What the server wrote: one line, or NULL. Owned. */
struct written {
    char *line;
    unsigned count;
};

static void keep(void *context, char *line)
{
    struct written *written = context;
    free(written->line);
    written->line = line;
    written->count++;
}

/* A node that says the same to everything. */
struct answer {
    const char *word; /* of a refusal; NULL to answer with `data` */
    enum error_code code;
    const char *data;
    const char *type;       /* NULL for JSON */
    const char *headers[5]; /* what is said to those that are asked for, in their order; NULL for nothing */
    char path[256], body[512]; /* of the last request */
};

static int say(void *context, const struct client_request *request, struct client_answer *answer,
               struct error *err)
{
    struct answer *said = context;
    CLEANUP_FREE char *body = request->body ? document_text(request->body) : text_copy("");
    snprintf(said->path, sizeof said->path, "%s %s", request->method, request->path);
    snprintf(said->body, sizeof said->body, "%s", body);
    if (said->word) {
        snprintf(request->refusal, CLIENT_WORD_SIZE, "%s", said->word);
        return error_set(err, said->code, "secret /path");
    }
    for (size_t i = 0; request->headers && request->headers[i].name; i++)
        snprintf(request->headers[i].value, sizeof request->headers[i].value, "%s",
                 said->headers[i] ? said->headers[i] : "");
    *answer = (struct client_answer){.status = 200,
                                     .type = text_copy(said->type ? said->type : "application/json"),
                                     .data = text_copy(said->data),
                                     .size = strlen(said->data)};
    return 0;
}

/* One line to a server that has begun a session. Gives the answer, or NULL. */
static json_t *ask(struct answer *node_says, const char *line)
{
    static const char begin[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\"}}";
    struct error err = ERROR_INIT;
    struct written written = {0};
    CLEANUP_MCP_NODE struct mcp_node *node = mcp_node_new_for_test(LEASE, say, node_says);
    CLEANUP_MCP_SERVER struct mcp_server *server = mcp_server_new(node, 0, keep, &written);
    mcp_server_line(server, begin, strlen(begin));
    assert_int_equal(written.count, 1);
    mcp_server_line(server, line, strlen(line));
    json_t *answer = written.count == 2 ? document_parse(written.line, strlen(written.line), &err) : NULL;
    free(written.line);
    return answer;
}

static int64_t error_code(const json_t *answer)
{
    return json_integer_value(json_object_get(json_object_get(answer, "error"), "code"));
}

static void lines_that_are_refused(void **state)
{
    (void)state;
    struct answer node = {.data = "{}"};
    static const struct {
        const char *line;
        int64_t code;
    } rows[] = {
        {"x", MCP_PARSE_ERROR},
        {"{\"a\":1,\"a\":2}", MCP_PARSE_ERROR},
        {"7", MCP_INVALID_REQUEST},
        {"[]", MCP_INVALID_REQUEST},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}", MCP_METHOD_NOT_FOUND},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"nope\"}}",
         MCP_INVALID_PARAMS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CLEANUP_JSON json_t *answer = ask(&node, rows[i].line);
        assert_int_equal(error_code(answer), rows[i].code);
    }
}

static void a_name_cut_inside_a_character(void **state)
{
    (void)state;
    struct answer node = {.data = "{}"};
    CLEANUP_JSON json_t *answer = ask(&node, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                                             "call\",\"params\":{\"name\":\"\xe7\xbe\x8e\xe7\xbe\x8e"
                                             "\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e"
                                             "\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe"
                                             "\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe"
                                             "\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7"
                                             "\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\xe7\xbe\x8e\"}}");
    assert_int_equal(error_code(answer), MCP_INVALID_PARAMS);
}

#define CALL(tool, arguments)                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool                   \
    "\",\"arguments\":" arguments "}}"

static const char *sentence(const json_t *answer)
{
    const json_t *content = json_object_get(json_object_get(answer, "result"), "content");
    return json_string_value(json_object_get(json_array_get(content, 0), "text"));
}

static void what_is_sent_and_what_is_said(void **state)
{
    (void)state;
    struct answer node = {
        .data = "{\"ok\":true,\"done\":1,\"frame\":{\"width\":1280,\"height\":800},\"changed\":null}"};
    CLEANUP_JSON json_t *answer = ask(&node, CALL("berth_key", "{\"keys\":\"a\"}"));
    assert_string_equal(node.path, "POST /v1/leases/" LEASE "/actions");
    assert_string_equal(node.body, "{\"actions\":[{\"op\":\"key\",\"keys\":\"a\"}]}");
    assert_string_equal(sentence(answer),
                        "{\"done\":1,\"frame\":{\"width\":1280,\"height\":800},\"changed\":null}");
}

static void nothing_of_a_fault_is_passed_on(void **state)
{
    (void)state;
    static const char *const words[] = {"internal", "image", "hypervisor", "unauthorized", "not_found",
                                        "made_up",  ""};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct answer node = {.word = words[i], .code = ERROR_INTERNAL};
        CLEANUP_JSON json_t *answer = ask(&node, CALL("berth_key", "{\"keys\":\"a\"}"));
        assert_non_null(sentence(answer));
        assert_null(strstr(sentence(answer), "secret"));
        assert_true(json_is_true(json_object_get(json_object_get(answer, "result"), "isError")));
    }
}

/* What comes from a node may be anything. */
static void answers_that_are_no_documents_of_ours(void **state)
{
    (void)state;
    static const char *const data[] = {
        "",     "[]",   "{\"frame\":5}", "{\"changed\":[1,2]}", "{\"screenshot\":{\"data\":5}}",
        "\xff", "null", "{\"x\":1}",     "{\"id\":1}",          "[{\"id\":\"l_x\"}]"};
    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) {
        struct answer node = {.data = data[i]};
        CLEANUP_JSON json_t *act = ask(&node, CALL("berth_key", "{\"keys\":\"a\",\"screenshot\":true}"));
        CLEANUP_JSON json_t *look = ask(&node, CALL("berth_screenshot", "{}"));
        CLEANUP_JSON json_t *status = ask(&node, CALL("berth_status", "{}"));
        CLEANUP_JSON json_t *end = ask(&node, CALL("berth_end", "{}"));
        assert_non_null(act);
        assert_non_null(look);
        assert_non_null(status);
        assert_non_null(end);
    }
}

/* The size of a picture is what its headers say, in the order picture, screen, stillness; none is guessed. */
static void a_picture_is_what_its_headers_say(void **state)
{
    (void)state;
    struct answer node = {
        .data = "picture", .type = "image/jpeg", .headers = {"640", "400", "1280", "800", "false"}};
    CLEANUP_JSON json_t *answer = ask(&node, CALL("berth_screenshot", "{}"));
    const json_t *result = json_object_get(answer, "result");
    const json_t *image = json_array_get(json_object_get(result, "content"), 0);
    CLEANUP_FREE char *said = document_text(json_object_get(result, "structuredContent"));
    assert_string_equal(said, "{\"width\":640,\"height\":400,\"frame\":{\"width\":1280,\"height\":800},"
                              "\"scale\":0.5,\"still\":false}");
    assert_string_equal(json_string_value(json_object_get(image, "mimeType")), "image/jpeg");
    assert_string_equal(json_string_value(json_object_get(image, "data")), "cGljdHVyZQ==");

    static const struct answer wrong[] = {
        {.data = "x", .type = "image/png", .headers = {"640", NULL, "1280", "800"}},
        {.data = "x", .type = "image/png", .headers = {"640", "0", "1280", "800"}},
        {.data = "x", .type = "image/png", .headers = {"640", "400", "1280", "32768"}},
        {.data = "x", .type = "image/png", .headers = {"640", "400", "-1", "800"}},
        {.data = "x", .type = "image/png", .headers = {"640 ", "400", "1280", "800"}},
        {.data = "x", .type = "image/gif", .headers = {"640", "400", "1280", "800"}},
        {.data = "x", .headers = {"640", "400", "1280", "800"}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct answer other = wrong[i];
        CLEANUP_JSON json_t *refused = ask(&other, CALL("berth_screenshot", "{}"));
        const json_t *fault = json_object_get(refused, "result");
        assert_true(json_is_true(json_object_get(fault, "isError")));
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(fault, "_meta"), "dev.berthos/code")),
            "connection_lost");
    }
}

/* Lines of every length around the limit, in pieces of every size. */
static void lines_around_the_limit(void **state)
{
    (void)state;
    enum { LIMIT = 20 };
    for (size_t piece = 1; piece < 60; piece += 7) {
        int pipes[2];
        assert_int_equal(pipe(pipes), 0);
        char text[2048];
        size_t size = 0, at = 0;
        for (size_t length = 0; length <= 2 * LIMIT; length++) {
            memset(text + size, 'a' + (int)(length % 26), length);
            size += length;
            text[size++] = '\n';
        }
        memcpy(text + size, "rest", 4);
        size += 4;
        for (; at < size; at += piece)
            assert_true(write(pipes[1], text + at, at + piece < size ? piece : size - at) > 0);
        close(pipes[1]);
        CLEANUP_MCP_INPUT struct mcp_input *input = mcp_input_new(pipes[0], LIMIT);
        const char *line;
        size_t got;
        for (size_t length = 0; length <= 2 * LIMIT; length++) {
            enum mcp_input_event event = mcp_input_next(input, &line, &got);
            assert_int_equal(event, length <= LIMIT ? MCP_INPUT_LINE : MCP_INPUT_LONG);
            if (event == MCP_INPUT_LINE) {
                assert_int_equal(got, length);
                assert_true(length == 0 || line[length - 1] == 'a' + (int)(length % 26));
            }
        }
        assert_int_equal(mcp_input_next(input, &line, &got), MCP_INPUT_LINE);
        assert_int_equal(got, 4);
        assert_int_equal(mcp_input_next(input, &line, &got), MCP_INPUT_END);
        close(pipes[0]);
    }
}

static char *source_file(const char *name)
{
    struct error err = ERROR_INIT;
    char *text = NULL;
    CLEANUP_FREE char *path = file_join(getenv("BERTHOS_SOURCE_DIR"), name);
    if (file_read(path, 1 << 20, &text, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return text;
}

static void documented(const char *manual, const char *word)
{
    CLEANUP_FREE char *quoted = text_format("`%s`", word);
    if (!strstr(manual, quoted))
        fail_msg("docs/MCP.md does not have %s", quoted);
}

/* What a tool that is no op takes stands in its row: `name`, or `name?` where it may be left out. */
static void fields_are_documented(const char *manual, const struct mcp_tool *tool)
{
    CLEANUP_FREE char *start = text_format("\n| `%s` | ", tool->name);
    const char *row = strstr(manual, start);
    if (!row)
        fail_msg("docs/MCP.md has no row of its own for %s", tool->name);
    CLEANUP_FREE char *line = text_format("%.*s", (int)strcspn(row + 1, "\n"), row + 1);
    for (size_t i = 0; i < tool->field_count; i++) {
        CLEANUP_FREE char *cell =
            text_format("`%s%s`", tool->fields[i].name, tool->fields[i].optional ? "?" : "");
        if (!strstr(line, cell))
            fail_msg("docs/MCP.md does not have %s in: %s", cell, line);
    }
}

/* The table of fault.c, and the tools. */
static void docs_have_every_code_and_every_tool(void **state)
{
    (void)state;
    CLEANUP_FREE char *manual = source_file("docs/MCP.md");
    CLEANUP_FREE char *source = source_file("cli/mcp/fault.c");
    unsigned count = 0;
    for (const char *at = strstr(source, "\n    {\""); at; at = strstr(at + 1, "\n    {\"")) {
        CLEANUP_FREE char *word = text_format("%.*s", (int)strcspn(at + 7, "\""), at + 7);
        documented(manual, word);
        count++;
    }
    assert_in_range(count, 15, 40);
    CLEANUP_JSON json_t *list = mcp_tools_list(mcp_revision_latest_initialized());
    size_t i;
    json_t *tool;
    json_array_foreach(json_object_get(list, "tools"), i, tool)
    {
        const char *name = json_string_value(json_object_get(tool, "name"));
        documented(manual, name);
        if (!mcp_tools_find(name)->op)
            fields_are_documented(manual, mcp_tools_find(name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_refused),
        cmocka_unit_test(a_name_cut_inside_a_character),
        cmocka_unit_test(what_is_sent_and_what_is_said),
        cmocka_unit_test(nothing_of_a_fault_is_passed_on),
        cmocka_unit_test(answers_that_are_no_documents_of_ours),
        cmocka_unit_test(a_picture_is_what_its_headers_say),
        cmocka_unit_test(lines_around_the_limit),
        cmocka_unit_test(docs_have_every_code_and_every_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
