#include "display/act.h"

int display_act(struct display *display, const struct display_act *act, struct cancel *cancel,
                int64_t deadline_ms, struct display_acted *acted, struct error *err)
{
    *acted = (struct display_acted){.picture = NULL};
    if (display_perform(display, &act->request, cancel, deadline_ms, &acted->outcome, err) < 0)
        return -1;
    if (act->picture && !(acted->picture = display_screenshot(display, act->picture, cancel, err)))
        return -1;
    display_changes(display, acted->outcome.sequence, &acted->changes);
    return 0;
}
