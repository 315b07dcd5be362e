/* Text as a terminal shows it: wrapping, cleaning, durations and sizes. Pure. */
#ifndef BERTHOS_CLI_LAYOUT_H
#define BERTHOS_CLI_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/*
 * A copy with every control character and every byte that is not UTF-8 replaced by '?', so that nothing that
 * came from elsewhere moves the cursor or hides a line. Newlines go too. *Owned*.
 */
char *layout_clean(const char *text);

/*
 * Breaks text at spaces so that no line is wider than `width` columns; lines after the first begin with
 * `indent` spaces. The first line starts at column `indent` (the caller has written what is before it).
 * A word that does not fit stands on a line of its own. width 0: no breaks. A column is a code point.
 * *Owned*.
 */
char *layout_wrap(const char *text, size_t indent, size_t width);

/* "45 s", "12 min 5 s", "3 h 20 min", "2 d 4 h". Negative counts as 0. *Owned*. */
char *layout_duration(int64_t seconds);

/* "512 bytes", "1.5 MiB", "700 MiB". *Owned*. */
char *layout_size(uint64_t bytes);

#endif
