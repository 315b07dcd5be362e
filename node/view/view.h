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

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"
#include "display/display.h"
#include "pairing/pairing.h"

#define VIEW_SECRET_SIZE 65 /* 64 hex digits and the terminator: a ticket or a session secret */
#define VIEW_TICKET_S    60
#define VIEW_VIEWERS_MAX 8

enum view_mode { VIEW_CONTROL, VIEW_WATCH };

/* Why a view ends, as its viewers are told. */
enum view_end { VIEW_LEASE_ENDED, VIEW_NODE_STOPPING };

struct view; /* opaque */

struct view_options {
    const char *lease_id;    /* copied */
    const char *owner;       /* id of the grant that made the lease; copied */
    int64_t expires_ms;      /* realtime; 0 = never */
    int64_t expires_boot_ms; /* the same by clock_boottime_ms(); CLOCK_NEVER = never */
    const char *assets;      /* folder of the page; copied */
    struct pairing *pairing; /* borrowed */
    struct holds *holds;     /* of the guest; borrowed */

    /* What /screenshot and /action reach; see display_screenshot() and display_act(). */
    struct picture *(*screenshot)(void *context, const struct picture_request *request, struct cancel *cancel,
                                  struct error *err);
    int (*act)(void *context, const struct display_act *act, struct cancel *cancel,
               struct display_acted *acted, struct error *err);

    /* A connected descriptor of its own for the guest's VNC server, *owned* by the caller; -1 with *err. */
    int (*open_display)(void *context, struct error *err);

    /* Told when a viewer comes (reason NULL) and when it has gone, and why. grant: whom it came by. May be
     * NULL. */
    void (*witness)(void *context, const char *grant, enum view_mode mode, const char *reason);
    void *context; /* borrowed */
};

/* Starts to listen. NULL with ERROR_INTERNAL. *Owned*: view_end(), then view_free(). */
struct view *view_open(const struct view_options *options, struct error *err);

/* The port that is listened on. */
uint16_t view_port(const struct view *view);

/* The word of a mode, "control" or "watch", and back; false for a word that is none. */
const char *view_mode_word(enum view_mode mode);
bool view_mode_from(const char *word, enum view_mode *mode);

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
