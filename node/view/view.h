/*
 * The guest view: a listener of its own for each lease, on 127.0.0.1 with a port that the kernel chooses. It
 * serves the page, pictures and actions, and connects viewers with the guest's VNC server through WebSockets
 * (CONTRACT.md section 5).
 *
 * Who may: a pairing token that reaches the lease; a ticket, which is good once and for a minute and so may
 * stand in a URL; and the secret that the page gets for a ticket. Watch mode is kept up here and not by the
 * page: the viewer's messages are parsed, and those that act are taken off.
 *
 * Every function may be called from any thread, until view_free().
 */
#ifndef BERTHOS_VIEW_VIEW_H
#define BERTHOS_VIEW_VIEW_H

#include <stdint.h>

#include "base/error.h"
#include "view/view_options.h"

/* Why a view ends, as its viewers are told. */
enum view_end { VIEW_LEASE_ENDED, VIEW_NODE_STOPPING };

struct view; /* opaque */

/* Starts to listen. NULL with ERROR_INTERNAL. *Owned*: view_end(), then view_free(). */
struct view *view_open(const struct view_options *options, struct error *err);

/* The port that is listened on. */
uint16_t view_port(const struct view *view);

/* Makes a ticket for the holder of a pairing token (`grant`: its id). */
void view_ticket(struct view *view, enum view_mode mode, const char *grant, char ticket[VIEW_SECRET_SIZE]);

/* Takes a pairing token's tickets and secrets away and closes the viewers that came by them. */
void view_revoke(struct view *view, const char *grant);

/*
 * Closes the listener, tells every viewer why, releases what they hold down in the guest and returns when
 * they are gone: within two seconds, unless QEMU takes longer to read what is released. Requests that wait
 * inside screenshot() or act() go on: end them next.
 */
void view_end(struct view *view, enum view_end why);

/* After view_end(), when nothing waits inside screenshot() or act() any more or will soon: stops the server.
 */
void view_free(struct view *view);

#endif
