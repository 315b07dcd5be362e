/* "Did you mean": the known word that a mistyped one is nearest to. */
#ifndef BERTHOS_BASE_NEAREST_H
#define BERTHOS_BASE_NEAREST_H

#include <stddef.h>

/*
 * The candidate that needs the fewest insertions, deletions, replacements and swaps of neighbours (optimal
 * string alignment), if those are few enough for a slip of the hand: at most one for each three characters,
 * and one at least. Case does not count. candidates may hold NULL. Returns a candidate (borrowed), or NULL
 * when none is near.
 */
const char *nearest_word(const char *word, const char *const candidates[], size_t count);

#endif
