/* Arbitrary bytes as an image's manifest: no crash, no leak, and a field of every accepted one is in bounds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = ERROR_INIT;
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        abort();
    if (manifest_decode((const char *)data, size, "/images", image, &err) == 0) {
        for (int i = 0; i < IMAGE_FILE_COUNT; i++)
            if (strncmp(image->parts[i].path, "/images/", 8) != 0 || strchr(image->parts[i].path + 8, '/') ||
                !digest_valid(image->parts[i].sha256))
                abort();
        struct error ignored = ERROR_INIT;
        manifest_check_labels(image->labels, &ignored);
    } else if (err.code != ERROR_IMAGE || !err.text[0])
        abort();
    image_free(image);
    return 0;
}
