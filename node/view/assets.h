/*
 * The files that a view serves: the page and what it loads, from share/berthos/view. Private to view/.
 *
 * What may be asked for is what a walk over the folder found when the view was opened, by its exact name:
 * there is no path to traverse. Links are not followed.
 */
#ifndef BERTHOS_VIEW_ASSETS_H
#define BERTHOS_VIEW_ASSETS_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

struct assets; /* opaque */

/* Walks the folder; one that is missing or empty gives no files and a warning. *Owned*. Never NULL. */
struct assets *assets_open(const char *folder);
void assets_free(struct assets *assets);
CLEANUP_DEFINE(assets, struct assets *, assets_free);

/*
 * Reads a file by its name relative to the folder, "novnc/core/rfb.js". *data is *owned*; *type is its
 * content type, static. ERROR_NOT_FOUND when there is no such file.
 */
int assets_read(const struct assets *assets, const char *name, char **data, size_t *size, const char **type,
                struct error *err);

#endif
