/*
 * Lines of MCP, as a client may send them: the input is split at newlines. The node behind answers out of the
 * input too: what it says goes by the sum of the path it is asked for.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"
#include "mcp/message.h"
#include "mcp/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const char *text;
    size_t size;
};

/* Each line out is one message, or an array of them. */
static void check(void *context, char *line)
{
    struct error err = ERROR_INIT;
    (void)context;
    CLEANUP_FREE char *owned = line;
    CLEANUP_JSON json_t *value = document_parse(owned, strlen(owned), &err);
    if (!value || strchr(owned, '\n'))
        abort();
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *message = json_is_array(value) ? json_array_get(value, i) : value;
        const json_t *result = json_object_get(message, "result"), *error = json_object_get(message, "error");
        if (!result == !error || !json_object_get(message, "id"))
            abort();
        if (result && (!json_is_object(result) || !mcp_id_valid(json_object_get(message, "id"))))
            abort();
    }
}

/* A refusal, a document, or a piece of the input itself. */
static int say(void *context, const struct client_request *request, struct client_answer *answer,
               struct error *err)
{
    static const char *const documents[] = {
        "{\"ok\":true,\"done\":1,\"frame\":{\"width\":1280,\"height\":800},\"changed\":[1,2,3,4],\"settled_"
        "ms\":5,"
        "\"x\":3,\"y\":4,\"screenshot\":{\"mime\":\"image/"
        "png\",\"width\":1280,\"height\":800,\"data\":\"AAAA\"}}",
        "[{\"id\":\"l_00000000000000000000000000000000\"}]",
        "{\"id\":\"l_0\",\"quote\":{\"vcpu\":2},\"expires_at\":\"2026-01-31T23:59:59.123Z\"}",
    };
    static const char *const words[] = {"bad_request", "untypable", "frame_changed", "internal", "not_found"};
    const struct input *input = context;
    unsigned sum = 0;
    CLEANUP_FREE char *body = request->body ? document_text(request->body) : text_copy("");
    for (const char *at = request->path; *at; at++)
        sum = sum * 31 + (unsigned char)*at;
    for (const char *at = body; *at; at++)
        sum = sum * 31 + (unsigned char)*at;
    if (sum % 4 == 0) {
        snprintf(request->refusal, CLIENT_WORD_SIZE, "%s", words[sum / 4 % 5]);
        return error_set(err, ERROR_INTERNAL, "%.*s", (int)(input->size < 2000 ? input->size : 2000),
                         input->text);
    }
    for (struct client_header *header = request->headers; header && header->name; header++)
        snprintf(header->value, sizeof header->value, "%u", sum / 8 % 3000);
    size_t offset = input->size ? sum % input->size : 0;
    const char *from = sum % 4 == 1 ? input->text + offset : documents[sum / 4 % 3];
    size_t length = sum % 4 == 1 ? input->size - offset : strlen(from);
    *answer = (struct client_answer){.status = 200,
                                     .type = text_copy(sum / 4 % 2 ? "application/json" : "image/png"),
                                     .data = malloc(length + 1),
                                     .size = length};
    if (!answer->data)
        abort();
    memcpy(answer->data, from, length);
    answer->data[length] = '\0';
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {(const char *)data, size};
    CLEANUP_MCP_NODE struct mcp_node *node = mcp_node_new_for_test(NULL, say, &input);
    CLEANUP_MCP_SERVER struct mcp_server *server = mcp_server_new(node, 0, check, NULL);
    for (size_t at = 0; at <= size;) {
        const char *line = (const char *)data + at;
        const char *end = size > at ? memchr(line, '\n', size - at) : NULL;
        size_t length = end ? (size_t)(end - line) : size - at;
        mcp_server_line(server, line, length);
        at += length + 1;
    }
    return 0;
}
