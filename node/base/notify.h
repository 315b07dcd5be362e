/* Telling systemd how the service is doing (sd_notify(3) protocol); does nothing when nobody asked to be
 * told. */
#ifndef BERTHOS_BASE_NOTIFY_H
#define BERTHOS_BASE_NOTIFY_H

/* Sends a state such as "READY=1" or "STOPPING=1" to $NOTIFY_SOCKET. */
void notify_state(const char *state);

#endif
