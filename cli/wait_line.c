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
    const json_t *chosen = json_object_get(node, "guest"), *berth;
    size_t i;
    /* With several berths it is the one being prepared, not the first. */
    json_array_foreach(json_object_get(node, "berths"), i, berth)
    {
        const char *state = member(berth, "state");
        if (state && strcmp(state, "preparing") == 0) {
            chosen = berth;
            break;
        }
    }
    const char *phase = member(chosen, "phase");
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
