/* Arbitrary bytes as the start of a disk: no read past the buffer, and none with a backing file gets through.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/qcow2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    /* the size that the header itself gives, so that the check of it does not hide what lies behind */
    uint64_t virtual_bytes = 0;
    for (size_t i = 24; i < 32 && size >= 32; i++)
        virtual_bytes = virtual_bytes << 8 | data[i];
    if (qcow2_check(data, size, UINT64_C(1) << 40, virtual_bytes, &err) == 0) {
        static const uint8_t none[12];
        if (memcmp(data + 8, none, sizeof none) != 0)
            abort();
    } else if (err.code != ERROR_IMAGE || !err.text[0])
        abort();
    return 0;
}
