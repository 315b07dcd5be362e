/* What a display consists of: the session with its thread, and on it the two that use it. Private to
 * display/. */
#ifndef BERTHOS_DISPLAY_DISPLAY_INSIDE_H
#define BERTHOS_DISPLAY_DISPLAY_INSIDE_H

#include "display/input_state.h"
#include "display/pictures.h"
#include "display/session.h"

struct display {
    struct session session;   /* its mutex guards the others too */
    struct pictures pictures; /* looking */
    struct input_state input; /* acting */
};

#endif
