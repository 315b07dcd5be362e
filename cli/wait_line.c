#include "wait_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "terminal.h"

static const char *member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

const char *wait_line_phase(const json_t *node)
{
    const json_t *berth, *for_a_lease = NULL, *for_nobody = NULL;
    size_t i;
    /* With several berths it is the one being prepared, not the first; one for a lease before one that has
     * none yet, which may be waited for or not. */
    json_array_foreach(json_object_get(node, "berths"), i, berth)
    {
        const char *state = member(berth, "state");
        const json_t **which = member(berth, "lease") ? &for_a_lease : &for_nobody;
        if (state && strcmp(state, "preparing") == 0 && !*which)
            *which = berth;
    }
    const json_t *chosen = for_a_lease ? for_a_lease : for_nobody;
    const char *phase = member(chosen ? chosen : json_object_get(node, "guest"), "phase");
    return phase ? phase : "waiting for the node";
}

void wait_line_show(struct wait_line *line, const json_t *node, int64_t now_ms)
{
    const char *phase = wait_line_phase(node);
    int64_t seconds = (now_ms - line->started_ms) / 1000;
    if (isatty(STDERR_FILENO)) {
        CLEANUP_FREE char *text = text_format("starting the guest: %s (%" PRId64 " s)", phase, seconds);
        terminal_update(text);
    } else if (strncmp(line->phase, phase, sizeof line->phase - 1) != 0) {
        terminal_say("starting the guest: %s (%" PRId64 " s)", phase, seconds);
    }
    snprintf(line->phase, sizeof line->phase, "%s", phase);
}
