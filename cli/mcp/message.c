#include "mcp/message.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

bool mcp_id_valid(const json_t *value)
{
    if (json_is_real(value))
        return trunc(json_real_value(value)) == json_real_value(value);
    return json_is_string(value) || json_is_integer(value);
}

struct mcp_message mcp_message_read(const json_t *value)
{
    struct mcp_message message = {.kind = MCP_INVALID};
    const json_t *id = json_object_get(value, "id");
    const json_t *method = json_object_get(value, "method");
    const json_t *params = json_object_get(value, "params");
    const char *version = json_string_value(json_object_get(value, "jsonrpc"));
    message.id = mcp_id_valid(id) ? id : NULL;
    if (!json_is_object(value))
        message.fault = "a message is a JSON object";
    else if (!version || strcmp(version, "2.0") != 0)
        message.fault = "\"jsonrpc\" must be \"2.0\"";
    else if (!method && (json_object_get(value, "result") || json_object_get(value, "error")))
        message.kind = MCP_RESPONSE;
    else if (!json_is_string(method))
        message.fault = "\"method\" must be a string";
    else if (id && !message.id)
        message.fault = "\"id\" must be a string or a whole number";
    else if (params && !json_is_object(params))
        message.fault = "\"params\" must be an object";
    else
        message.kind = id ? MCP_REQUEST : MCP_NOTIFICATION;
    message.method = json_string_value(method);
    message.params = json_is_object(params) ? params : NULL;
    return message;
}

static json_t *copy_id(const json_t *id)
{
    return id ? json_incref((json_t *)id) : json_null();
}

json_t *mcp_text(const char *text)
{
    size_t size = strlen(text), good = 0, length;
    uint32_t code_point;
    while (good < size && (length = text_decode(text + good, size - good, &code_point)) > 0)
        good += length;
    return json_stringn(text, good);
}

json_t *mcp_answer(const json_t *id, json_t *result)
{
    return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", copy_id(id), "result", result);
}

json_t *mcp_error(const json_t *id, enum mcp_code code, const char *sentence, json_t *data)
{
    return json_pack("{s:s, s:o, s:{s:i, s:o, s:o*}}", "jsonrpc", "2.0", "id", copy_id(id), "error", "code",
                     (int)code, "message", mcp_text(sentence), "data", data);
}
