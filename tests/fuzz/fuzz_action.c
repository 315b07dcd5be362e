/* Bodies of actions, as a client may send them: parsed, decoded, cleared. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "protocol/action.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    CLEANUP_JSON json_t *document = document_parse((const char *)data, size, &err);
    if (!document)
        return 0;
    struct action action = {.kind = ACTION_WAIT};
    if (action_decode(document, &action, &err) == 0) {
        /* What the decoder promises to everybody after it. */
        if (action.text && (strlen(action.text) == 0 || strlen(action.text) > ACTION_KEYS_MAX))
            abort();
        if (action.kind == ACTION_CLICK && (action.count < 1 || action.count > 3))
            abort();
        if (action.button >= BUTTON_BACK || action.dx != 0 || action.point.x < 0 || action.point.y < 0)
            abort();
        for (size_t i = 0; i < action.key_count; i++)
            if (!action.keys[i].key && !action.keys[i].modifiers)
                abort();
    } else if (err.code != ERROR_BAD_REQUEST && err.code != ERROR_UNTYPABLE) {
        abort();
    }
    action_clear(&action);
    return 0;
}
