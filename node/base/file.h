/* Files: bounded reads, atomic writes, folders with the mode they need from birth. */
#ifndef BERTHOS_BASE_FILE_H
#define BERTHOS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Reads a whole regular file of at most max_bytes. *data (owned by the caller) is terminated; *size (may be
 * NULL) does not count the terminator. Errors: ERROR_NOT_FOUND when there is no such file, ERROR_TOO_LARGE,
 * else ERROR_INTERNAL.
 */
int file_read(const char *path, size_t max_bytes, char **data, size_t *size, struct error *err);

/*
 * Replaces a file so that a crash at any moment leaves the old or the new content, whole: a temporary file
 * beside it made with `mode` from birth, fsync, rename, fsync of the folder. Returns 0, or -1 with
 * ERROR_INTERNAL and nothing left over.
 */
int file_write_atomic(const char *path, mode_t mode, const void *data, size_t size, struct error *err);

/*
 * Removes what a process that was killed inside file_write_atomic() left in a folder: its temporary files
 * that were changed last at least min_age_ms ago; 0 where nobody else can be writing there. Returns how many.
 */
int file_sweep(const char *folder, int64_t min_age_ms);

/* The same for the files whose names fit. */
int file_sweep_named(const char *folder, bool (*fits)(const char *name), int64_t min_age_ms);

/* Makes a folder and its missing parents (these 0755); one that is there stays as it is. */
int file_make_folder(const char *path, mode_t mode, struct error *err);

/* Removes a file; one that is not there is fine. */
int file_remove(const char *path, struct error *err);

/*
 * Where data that is installed with the program lies: share/berthos/<name> beside its folder, installed or in
 * a build tree alike. NULL with ERROR_INTERNAL. *Owned*.
 */
char *file_shared(const char *name, struct error *err);

/* The path from the root: one that is not absolute begins at the working folder. Never NULL. *Owned*. */
char *file_absolute(const char *path);

/* "<folder>/<name>" as a new string. *Owned*. */
char *file_join(const char *folder, const char *name);

#endif
