#include "base/random.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/text.h"

void random_bytes(void *buffer, size_t size)
{
    if (gnutls_rnd(GNUTLS_RND_KEY, buffer, size) < 0) {
        log_error("base", "the random generator of GnuTLS failed; stopping rather than going on without");
        abort();
    }
}

void random_hex(char *text, size_t bytes)
{
    unsigned char raw[64];
    for (size_t done = 0; done < bytes;) {
        size_t part = bytes - done < sizeof raw ? bytes - done : sizeof raw;
        random_bytes(raw, part);
        text_hex(raw, part, text + 2 * done);
        done += part;
    }
    text[2 * bytes] = '\0';
}

uint32_t random_below(uint32_t bound)
{
    uint32_t limit = UINT32_MAX - UINT32_MAX % bound, value;
    do
        random_bytes(&value, sizeof value);
    while (value >= limit);
    return value % bound;
}
