#include "pairing/grant.h"

#include <stddef.h>
#include <string.h>

static const struct {
    unsigned bit;
    const char *word;
} capability_words[] = {{CAPABILITY_OPERATOR, "operator"}, {CAPABILITY_LEASE, "lease"}};

const char *pairing_capability_word(unsigned bit)
{
    for (size_t i = 0; i < sizeof capability_words / sizeof *capability_words; i++)
        if (capability_words[i].bit == bit)
            return capability_words[i].word;
    return NULL;
}

unsigned pairing_capability_from(const char *word)
{
    for (size_t i = 0; i < sizeof capability_words / sizeof *capability_words; i++)
        if (strcmp(capability_words[i].word, word) == 0)
            return capability_words[i].bit;
    return 0;
}

json_t *pairing_capabilities(unsigned capabilities)
{
    json_t *words = json_array();
    for (unsigned bit = 1; bit <= CAPABILITY_ALL; bit <<= 1)
        if (capabilities & bit)
            json_array_append_new(words, json_string(pairing_capability_word(bit)));
    return words;
}

bool pairing_grant_reaches(const struct pairing_grant *grant, const char *owner)
{
    return grant->capabilities & CAPABILITY_OPERATOR ||
           (grant->capabilities & CAPABILITY_LEASE && strcmp(grant->id, owner) == 0);
}
