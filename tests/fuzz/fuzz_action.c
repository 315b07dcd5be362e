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
        size_t bytes = action.text ? strlen(action.text) : 1;
        if (bytes == 0 || bytes > 65536 || action.characters > 16384 || action.characters > bytes)
            abort();
        if (action.via == VIA_KEYS && (action.needs || action.characters > ACTION_KEYS_MAX))
            abort();
        if (action.kind == ACTION_CLICK && (action.count < 1 || action.count > 3))
            abort();
        if (action.button >= BUTTON_BACK && (action.kind != ACTION_CLICK || !(action.needs & NEED_BUTTONS)))
            abort();
        if ((action.dx != 0) != !!(action.needs & NEED_WHEEL) || action.point.x < 0 || action.point.y < 0)
            abort();
        struct error refused = ERROR_INIT;
        if ((action_check_needs(&action, 0, &refused) < 0) != (action.needs != 0) ||
            action_check_needs(&action, action.needs, &refused) < 0)
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
