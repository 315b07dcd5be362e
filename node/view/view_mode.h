/* What somebody may do in a guest view. */
#ifndef BERTHOS_VIEW_VIEW_MODE_H
#define BERTHOS_VIEW_VIEW_MODE_H

#include <stdbool.h>

enum view_mode { VIEW_CONTROL, VIEW_WATCH };

/* The word of a mode, "control" or "watch", and back; false for a word that is none. */
const char *view_mode_word(enum view_mode mode);
bool view_mode_from(const char *word, enum view_mode *mode);

#endif
