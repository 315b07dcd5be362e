#include "base/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define DIGEST_BYTES 32

void digest_buffer(const void *data, size_t size, char hex[DIGEST_HEX_SIZE])
{
    unsigned char raw[DIGEST_BYTES];
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, data, size, raw) < 0)
        abort(); /* SHA-256 is part of every GnuTLS; without it no check of ours means anything */
    text_hex(raw, sizeof raw, hex);
    hex[2 * DIGEST_BYTES] = '\0';
}

int digest_file(int fd, const char *name, digest_progress *progress, void *context, char hex[DIGEST_HEX_SIZE],
                struct error *err)
{
    enum { CHUNK = 1 << 20 };
    unsigned char raw[DIGEST_BYTES];
    CLEANUP_FREE unsigned char *chunk = malloc(CHUNK);
    gnutls_hash_hd_t hash;
    if (!chunk || gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) < 0)
        return error_set(err, ERROR_INTERNAL, "cannot hash %s: out of memory", name);
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    uint64_t done = 0;
    for (;;) {
        ssize_t got = pread(fd, chunk, CHUNK, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int failure = errno;
            gnutls_hash_deinit(hash, NULL);
            return error_set_errno(err, ERROR_INTERNAL, failure, "cannot read %s to hash it", name);
        }
        if (got == 0)
            break;
        gnutls_hash(hash, chunk, (size_t)got);
        done += (uint64_t)got;
        if (progress)
            progress(context, done);
    }
    gnutls_hash_deinit(hash, raw);
    text_hex(raw, sizeof raw, hex);
    hex[2 * DIGEST_BYTES] = '\0';
    return 0;
}

bool digest_equal(const void *a, const void *b, size_t size)
{
    return gnutls_memcmp(a, b, size) == 0;
}

bool digest_valid(const char *hex)
{
    return text_is_hex(hex, 2 * DIGEST_BYTES);
}
