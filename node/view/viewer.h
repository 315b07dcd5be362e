/*
 * One viewer: a WebSocket on one side, a descriptor of its own for the guest's VNC server on the other.
 * Private to view/.
 */
#ifndef BERTHOS_VIEW_VIEWER_H
#define BERTHOS_VIEW_VIEWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "display/holds.h"
#include "view/audience.h"
#include "view/view_options.h"

struct viewer; /* opaque */

/*
 * Takes a place in the audience. grant: whom the viewer came by; socket: of its connection. Errors as
 * audience_join(). *Owned*: viewer_free(), which gives the place back.
 */
struct viewer *viewer_new(struct audience *audience, const char *grant, int socket, struct error *err);

/* What the viewer looks at: a connected descriptor (*transferred*), in watch mode or not. options: borrowed.
 */
void viewer_connect(struct viewer *viewer, int vnc_fd, bool watch, const struct view_options *options);

/*
 * Pumps until either side ends or the viewer is told to go, releases what it holds down, and says goodbye.
 * socket: upgraded, borrowed; it is made non-blocking. early: bytes that came with the handshake.
 */
void viewer_run(struct viewer *viewer, int socket, const char *early, size_t early_size);

void viewer_free(struct viewer *viewer);
CLEANUP_DEFINE(viewer, struct viewer *, viewer_free);

#endif
