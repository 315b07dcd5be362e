/* Acting and looking in one call: actions, a picture when they are done, and what has changed since they
 * began. */
#ifndef BERTHOS_DISPLAY_ACT_H
#define BERTHOS_DISPLAY_ACT_H

#include "display/input.h"
#include "display/screenshot.h"

struct display_act {
    struct display_request request;
    const struct picture_request *picture; /* borrowed; NULL: none is wanted */
};

/* What came of it. */
struct display_acted {
    struct display_outcome outcome;
    struct display_changes changes;
    struct picture *picture; /* *owned*: picture_release(); NULL where none was wanted */
};

/*
 * Errors of display_perform(); with every action done (outcome.done), those of display_screenshot(). What
 * could not be told then is zero.
 */
int display_act(struct display *display, const struct display_act *act, struct cancel *cancel,
                int64_t deadline_ms, struct display_acted *acted, struct error *err);

#endif
