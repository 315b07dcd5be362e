/*
 * One-time codes: eight symbols out of 32, which is 40 bits, shown as XXXX-XXXX and read without regard to
 * case and dashes. I, O, 0 and 1 are none: people mistake them.
 */
#ifndef BERTHOS_PAIRING_CODE_H
#define BERTHOS_PAIRING_CODE_H

#include <stdbool.h>

#define PAIRING_CODE_SIZE 10 /* "XXXX-XXXX" and the terminator */

/* A code as it is kept: its symbols alone. A secret. */
struct code {
    char symbols[8];
};

/* A fresh one, from random bytes fit for keys. */
struct code code_new(void);

/* As people see it. */
void code_show(const struct code *code, char text[PAIRING_CODE_SIZE]);

/* What somebody wrote. False when it has not eight symbols; what they are is code_equal()'s to say. */
bool code_read(const char *text, struct code *code);

/* In constant time. */
bool code_equal(const struct code *a, const struct code *b);

#endif
