/* The thread of a session, which serves the RFB client: from the handshake to the end. Private to display/.
 */
#ifndef BERTHOS_DISPLAY_RFB_THREAD_H
#define BERTHOS_DISPLAY_RFB_THREAD_H

#include "display/session.h"

/*
 * Starts the thread on a connected descriptor of the VNC server (*transferred*, also on failure). Returns
 * when the handshake is over and QEMU has answered our own SetEncodings, 0, or -1 with ERROR_GUEST_FAILED;
 * then the thread has ended.
 */
int rfb_thread_start(struct session *session, int fd, int64_t timeout_ms, struct error *err);

/* Ends the session and the thread, once QEMU has read what is in the outbox or has had a moment for it:
 * closing first would throw it away. */
void rfb_thread_stop(struct session *session);

#endif
