/* The error document of every surface: {"error": "<sentence>", "code": "<machine word>"} (CONTRACT.md section
 * 3). */
#ifndef BERTHOS_PROTOCOL_ERROR_WORDS_H
#define BERTHOS_PROTOCOL_ERROR_WORDS_H

#include <jansson.h>

#include "base/error.h"

/* The machine word of a code; the closed list is in docs/SESSION.md. Borrowed, static. */
const char *protocol_error_word(enum error_code code);

/* The HTTP status that goes with a code. */
unsigned protocol_error_status(enum error_code code);

/* The code of a machine word, as a client reads it; ERROR_INTERNAL for a word that is not known. */
enum error_code protocol_error_code(const char *word);

/* The document. A new reference. */
json_t *protocol_error_encode(const struct error *err);

#endif
