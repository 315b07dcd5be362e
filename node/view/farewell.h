/* How a viewer ends: first towards the guest, then towards the peer. Private to view/. */
#ifndef BERTHOS_VIEW_FAREWELL_H
#define BERTHOS_VIEW_FAREWELL_H

#include <stdbool.h>
#include <stdint.h>

struct viewer;

/* Waits for one descriptor; false when the deadline has passed. */
bool viewer_wait(int fd, short events, int64_t deadline_ms);

/* Lets go of the guest: nothing of this viewer's stays down, QEMU's connection is closed, the place is free.
 */
void viewer_leave_guest(struct viewer *viewer);

/* Tells the peer why, where it can be told. */
void viewer_say_goodbye(struct viewer *viewer);

#endif
