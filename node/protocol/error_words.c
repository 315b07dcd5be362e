#include "protocol/error_words.h"

#include <string.h>

/* The closed list; docs/SESSION.md shows the same rows and a test compares the two. */
static const struct {
    const char *word;
    unsigned status;
} codes[ERROR_CODE_COUNT] = {
    [ERROR_NONE] = {"internal", 500},
    [ERROR_INTERNAL] = {"internal", 500},
    [ERROR_BAD_REQUEST] = {"bad_request", 400},
    [ERROR_UNAUTHORIZED] = {"unauthorized", 401},
    [ERROR_WRONG_CODE] = {"wrong_code", 403},
    [ERROR_FORBIDDEN] = {"forbidden", 403},
    [ERROR_INELIGIBLE] = {"ineligible", 403},
    [ERROR_NOT_FOUND] = {"not_found", 404},
    [ERROR_METHOD] = {"method_not_allowed", 405},
    [ERROR_UNPARKED] = {"unparked", 409},
    [ERROR_LEASE_LIVE] = {"lease_live", 409},
    [ERROR_FRAME_CHANGED] = {"frame_changed", 409},
    [ERROR_PAUSED] = {"guest_paused", 409},
    [ERROR_CANCELLED] = {"cancelled", 409},
    [ERROR_NO_CAPACITY] = {"no_capacity", 409},
    [ERROR_OS_REFUSED] = {"os_refused", 400},
    [ERROR_BAD_SHAPE] = {"bad_shape", 400},
    [ERROR_TOO_LARGE] = {"too_large", 413},
    [ERROR_UNTYPABLE] = {"untypable", 422},
    [ERROR_SLOW_DOWN] = {"slow_down", 429},
    [ERROR_TOO_MANY] = {"too_many", 429},
    [ERROR_GUEST_FAILED] = {"guest_failed", 503},
    [ERROR_HYPERVISOR] = {"hypervisor", 503},
    [ERROR_ENDING] = {"ending", 503},
    [ERROR_TIMEOUT] = {"timeout", 503},
    [ERROR_CONFIG] = {"config", 500},
    [ERROR_IMAGE] = {"image", 500},
};

const char *protocol_error_word(enum error_code code)
{
    return codes[(unsigned)code < ERROR_CODE_COUNT ? code : ERROR_INTERNAL].word;
}

unsigned protocol_error_status(enum error_code code)
{
    return codes[(unsigned)code < ERROR_CODE_COUNT ? code : ERROR_INTERNAL].status;
}

enum error_code protocol_error_code(const char *word)
{
    for (unsigned code = ERROR_INTERNAL; code < ERROR_CODE_COUNT; code++)
        if (strcmp(codes[code].word, word) == 0)
            return code;
    return ERROR_INTERNAL;
}

json_t *protocol_error_encode(const struct error *err)
{
    /* A text cut inside a character is no UTF-8; json_pack would then give nothing at all. */
    json_t *sentence = json_string(err->text);
    if (!sentence)
        sentence = json_string("the error could not be put into words");
    return json_pack("{s:o, s:s}", "error", sentence, "code", protocol_error_word(err->code));
}
