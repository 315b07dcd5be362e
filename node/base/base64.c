#include "base/base64.h"
#include "base/memory.h"

#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

char *base64_encode(const void *data, size_t size)
{
    gnutls_datum_t raw = {.data = (void *)data, .size = (unsigned)size}, text;
    if (size == 0) {
        char *empty = memory_new(1);
        return empty;
    }
    if (gnutls_base64_encode2(&raw, &text) < 0)
        abort(); /* memory alone can fail */
    return (char *)text.data;
}

unsigned char *base64_decode(const char *text, size_t *size, struct error *err)
{
    gnutls_datum_t encoded = {.data = (void *)text, .size = (unsigned)strlen(text)}, raw = {0};
    if (encoded.size > 0 && gnutls_base64_decode2(&encoded, &raw) < 0) {
        error_set(err, ERROR_BAD_REQUEST, "the text is not base64");
        return NULL;
    }
    unsigned char *data = memory_new(raw.size + 1u);
    if (raw.size > 0)
        memcpy(data, raw.data, raw.size);
    data[raw.size] = '\0';
    *size = raw.size;
    gnutls_free(raw.data);
    return data;
}
