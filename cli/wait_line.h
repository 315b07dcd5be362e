/* What `berth up` says while it waits: how far the guest is, as GET /v1/node tells it. */
#ifndef BERTHOS_CLI_WAIT_LINE_H
#define BERTHOS_CLI_WAIT_LINE_H

#include <jansson.h>
#include <stdint.h>

struct wait_line {
    int64_t started_ms; /* monotonic */
    char phase[32];     /* the last one told */
};

/*
 * What the guest that is being prepared is in: "define", "boot", "desktop", "first frame"; where the node
 * names no phase, "waiting for the node". Borrowed from the document, or static.
 */
const char *wait_line_phase(const json_t *node);

/*
 * Tells it: on a terminal one line with the seconds, renewed; elsewhere a line when the phase has changed.
 * now_ms: monotonic.
 */
void wait_line_show(struct wait_line *line, const json_t *node, int64_t now_ms);

#endif
