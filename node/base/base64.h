/* Base64 (RFC 4648 section 4), by GnuTLS. */
#ifndef BERTHOS_BASE_BASE64_H
#define BERTHOS_BASE_BASE64_H

#include <stddef.h>

#include "base/error.h"

/* Encodes `size` bytes without line breaks. *Owned*: free(). Never NULL. */
char *base64_encode(const void *data, size_t size);

/* Decodes a terminated text; a byte 0 is put after the end. *Owned*: free(). NULL with ERROR_BAD_REQUEST. */
unsigned char *base64_decode(const char *text, size_t *size, struct error *err);

#endif
