#include "display/etag.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "base/random.h"

#define SECRET_SIZE 192 /* bytes; XXH3 wants XXH3_SECRET_SIZE_MIN at least */

unsigned char *etag_secret(void)
{
    unsigned char *secret = memory_new(SECRET_SIZE);
    random_bytes(secret, SECRET_SIZE);
    return secret;
}

void etag_of(const unsigned char *secret, const struct pixels *pixels, const struct picture_plan *plan,
             char etag[PICTURE_ETAG_SIZE])
{
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        abort();
    XXH3_128bits_reset_withSecret(state, secret, SECRET_SIZE);
    XXH3_128bits_update(state, plan, sizeof *plan);
    size_t row = (size_t)pixels->width * sizeof(uint32_t);
    if (pixels->width == pixels->stride)
        XXH3_128bits_update(state, pixels->first, row * pixels->height);
    else
        for (uint32_t y = 0; y < pixels->height; y++)
            XXH3_128bits_update(state, pixels->first + (size_t)y * pixels->stride, row);
    XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(etag, PICTURE_ETAG_SIZE, "\"%016" PRIx64 "%016" PRIx64 "\"", hash.high64, hash.low64);
}

bool etag_matches(const char *header, const char *etag)
{
    size_t length = strlen(etag);
    if (!header)
        return false;
    for (const char *at = header + strspn(header, " \t,"); *at; at += strspn(at, " \t,")) {
        if (*at == '*')
            return at[1 + strspn(at + 1, " \t")] == '\0' && at == header + strspn(header, " \t");
        if (strncmp(at, "W/", 2) == 0)
            at += 2;
        const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (!end)
            return false; /* no entity tag: what follows cannot be told apart */
        if ((size_t)(end + 1 - at) == length && memcmp(at, etag, length) == 0)
            return true;
        at = end + 1;
    }
    return false;
}
