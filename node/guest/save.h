/* The end of a guest as a file, from which others go on: guest_restore() (start.h). */
#ifndef BERTHOS_GUEST_SAVE_H
#define BERTHOS_GUEST_SAVE_H

#include <stdint.h>

#include "base/error.h"
#include "guest/handle.h"

/*
 * Saves a guest, running or paused, with its memory to the file `path` (virDomainSaveFlags), and returns when
 * the domain is gone: its watcher hears of that as of any other end. The file has mode 0600 from birth and is
 * root's, the daemon's user's or ours; it appears at `path` whole or not at all. Whatever state the guest was
 * in, a restore of it runs. -1 with ERROR_INTERNAL when something is at `path` already, ERROR_NOT_FOUND when
 * there is no such guest, ERROR_GUEST_FAILED or ERROR_HYPERVISOR: then no file is left, also when the save
 * comes to its end after timeout_ms, and the guest may or may not be there: destroy it.
 */
int guest_save(const struct guest *guest, const char *path, int64_t timeout_ms, struct error *err);

#endif
