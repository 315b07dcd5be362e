/* Arbitrary bytes as the guest agent's answer about the input helper: no crash, and what is accepted is in
 * bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/helper_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { CHARACTERS = 100 };
    struct error err = ERROR_INIT;
    struct helper_status status;
    char *answer = malloc(size + 1);
    if (!answer)
        abort();
    memcpy(answer, data, size);
    answer[size] = '\0';
    if (helper_read_status(answer, CHARACTERS, &status, &err) == 0) {
        if (status.typed > CHARACTERS || (status.exited && !status.ok && !status.phrase[0]))
            abort();
        for (const char *at = status.phrase; *at; at++)
            if (*at < ' ' || *at > '~')
                abort();
    } else if (err.code != ERROR_GUEST_FAILED || !err.text[0])
        abort();
    free(answer);
    return 0;
}
