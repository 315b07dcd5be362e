/* Arbitrary bytes as an If-None-Match header: no read past its end, and only our picture's name matches. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "display/etag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = "\"0123456789abcdef\"";
    char *header = malloc(size + 1); /* of its very size, so that a read past it is seen */
    if (!header)
        abort();
    if (size > 0)
        memcpy(header, data, size);
    header[size] = '\0';
    if (etag_matches(header, name) && !strstr(header, name) && !strchr(header, '*'))
        abort();
    free(header);
    return 0;
}
