#include "view/view_mode.h"

#include <string.h>

static const char *const mode_words[] = {[VIEW_CONTROL] = "control", [VIEW_WATCH] = "watch"};

const char *view_mode_word(enum view_mode mode)
{
    return mode_words[mode == VIEW_WATCH];
}

bool view_mode_from(const char *word, enum view_mode *mode)
{
    for (unsigned i = 0; i < 2; i++) {
        if (strcmp(mode_words[i], word) == 0) {
            *mode = i;
            return true;
        }
    }
    return false;
}
