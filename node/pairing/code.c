#include "pairing/code.h"

#include <ctype.h>
#include <stdio.h>

#include "base/digest.h"
#include "base/random.h"

static const char alphabet[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

struct code code_new(void)
{
    struct code code;
    for (size_t i = 0; i < sizeof code.symbols; i++)
        code.symbols[i] = alphabet[random_below(sizeof alphabet - 1)];
    return code;
}

void code_show(const struct code *code, char text[PAIRING_CODE_SIZE])
{
    snprintf(text, PAIRING_CODE_SIZE, "%.4s-%.4s", code->symbols, code->symbols + 4);
}

bool code_read(const char *text, struct code *code)
{
    size_t length = 0;
    for (; *text; text++) {
        if (*text == '-')
            continue;
        if (length == sizeof code->symbols)
            return false;
        code->symbols[length++] = (char)toupper((unsigned char)*text);
    }
    return length == sizeof code->symbols;
}

bool code_equal(const struct code *a, const struct code *b)
{
    return digest_equal(a->symbols, b->symbols, sizeof a->symbols);
}
