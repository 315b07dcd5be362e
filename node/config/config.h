/*
 * node.toml, the operator's advertisement (CONTRACT.md section 1): read, compared, and written for the first
 * time. What may stand in it is the table of settings.h; everything that is wrong is refused with file, line,
 * column and the values allowed.
 */
#ifndef BERTHOS_CONFIG_CONFIG_H
#define BERTHOS_CONFIG_CONFIG_H

#include "base/cleanup.h"
#include "base/error.h"
#include "config/settings.h"

/*
 * Reads HOME/node.toml; where it is not there, gives the defaults. NULL with ERROR_CONFIG: "FILE:LINE:COLUMN:
 * what is wrong and what is allowed". The result is *owned*: config_free().
 */
struct config *config_load(const char *home, struct error *err);

/*
 * Whether node.toml still says what was read from it: 0, or -1 with ERROR_CONFIG that names what differs, or
 * says why it cannot be read any more. Comments and order do not matter.
 */
int config_check_unchanged(const struct config *config, struct error *err);

/* Writes HOME/node.toml (0600) with every key, its default and a comment, unless the file is there already.
 */
int config_write_default(const char *home, struct error *err);

void config_free(struct config *config);
CLEANUP_DEFINE(config, struct config *, config_free);
#define CLEANUP_CONFIG CLEANUP(cleanup_config)

#endif
