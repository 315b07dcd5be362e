#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Longer words are no slips; the bound keeps the table on the stack. */
enum { LENGTH_MAX = 32 };

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t cost[LENGTH_MAX + 1][LENGTH_MAX + 1];
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t j = 0; j <= b_length; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            size_t replaced = cost[i - 1][j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
            cost[i][j] = least_of(replaced, least_of(cost[i - 1][j], cost[i][j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
                cost[i][j] = least_of(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a_length][b_length];
}

const char *nearest_word(const char *word, const char *const candidates[], size_t count)
{
    size_t length = strlen(word);
    if (length == 0 || length > LENGTH_MAX)
        return NULL;
    size_t allowed = length / 3 > 1 ? length / 3 : 1;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t candidate_length = candidates[i] ? strlen(candidates[i]) : LENGTH_MAX + 1;
        if (candidate_length > LENGTH_MAX)
            continue;
        size_t found = edit_distance(word, length, candidates[i], candidate_length);
        if (found < candidate_length && found < allowed + (best ? 0 : 1)) {
            best = candidates[i];
            allowed = found;
        }
    }
    return best;
}
