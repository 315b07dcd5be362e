#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"

enum { SUFFIX_BYTES = 8 }; /* what makes a temporary file's name its own */

int file_read(const char *path, size_t max_bytes, char **data, size_t *size, struct error *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_INTERNAL, errno,
                               "cannot open %s", path);
    struct stat info;
    if (fstat(fd, &info) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot look at %s", path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERROR_INTERNAL, "%s is not a regular file", path);
    /* st_size is 0 for files under /proc and /sys, so it is a hint only: the reads decide. */
    size_t room = info.st_size > 0 && (uintmax_t)info.st_size <= max_bytes ? (size_t)info.st_size + 1 : 4096;
    size_t used = 0;
    CLEANUP_FREE char *buffer = malloc(room + 1);
    while (buffer) {
        ssize_t got = read(fd, buffer + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set_errno(err, ERROR_INTERNAL, errno, "cannot read %s", path);
        used += (size_t)got;
        if (used > max_bytes)
            return error_set(err, ERROR_TOO_LARGE, "%s is larger than the %zu bytes that it may have", path,
                             max_bytes);
        if (got == 0) {
            buffer[used] = '\0';
            *data = TAKE(buffer);
            if (size)
                *size = used;
            return 0;
        }
        if (used == room) {
            room *= 2;
            char *larger = realloc(buffer, room + 1);
            if (!larger)
                break;
            buffer = larger;
        }
    }
    return error_set(err, ERROR_INTERNAL, "cannot read %s: out of memory", path);
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        data += put;
        size -= (size_t)put;
    }
    return 0;
}

static int sync_folder_of(const char *path)
{
    CLEANUP_FREE char *folder = text_copy(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    CLEANUP_CLOSE int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : fsync(fd);
}

int file_write_atomic(const char *path, mode_t mode, const void *data, size_t size, struct error *err)
{
    char suffix[2 * SUFFIX_BYTES + 1];
    random_hex(suffix, SUFFIX_BYTES);
    CLEANUP_FREE char *temporary = text_format("%s.%s.tmp", path, suffix);
    CLEANUP_CLOSE int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot create %s", temporary);
    /* fchmod: the umask may have taken bits away, and never adds any */
    if (fchmod(fd, mode) < 0 || write_all(fd, data, size) < 0 || fsync(fd) < 0 ||
        rename(temporary, path) < 0) {
        error_set_errno(err, ERROR_INTERNAL, errno, "cannot write %s", path);
        unlink(temporary);
        return -1;
    }
    if (sync_folder_of(path) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot sync the folder of %s", path);
    return 0;
}

/* Whether file_write_atomic() gives its temporary files such names: PATH.HEX.tmp */
static bool is_temporary(const char *name)
{
    enum { TAIL = 1 + 2 * SUFFIX_BYTES + 4 };
    size_t length = strlen(name);
    if (length <= TAIL || name[length - TAIL] != '.' || strcmp(name + length - 4, ".tmp") != 0)
        return false;
    char hex[2 * SUFFIX_BYTES + 1];
    snprintf(hex, sizeof hex, "%.*s", 2 * SUFFIX_BYTES, name + length - TAIL + 1);
    return text_is_hex(hex, 2 * SUFFIX_BYTES);
}

int file_sweep_named(const char *folder, bool (*fits)(const char *name), int64_t min_age_ms)
{
    int removed = 0;
    int64_t now_ms = clock_realtime_ms();
    CLEANUP_FOLDER DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        struct stat info;
        if (fits(entry->d_name) && fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode) &&
            (min_age_ms == 0 || now_ms - (int64_t)info.st_mtim.tv_sec * 1000 >= min_age_ms))
            removed += unlinkat(dirfd(dir), entry->d_name, 0) == 0;
    }
    return removed;
}

int file_sweep(const char *folder, int64_t min_age_ms)
{
    return file_sweep_named(folder, is_temporary, min_age_ms);
}

int file_make_folder(const char *path, mode_t mode, struct error *err)
{
    CLEANUP_FREE char *step = text_copy(path);
    /* Without slashes at the end: "a/b/" would take b for a parent and give it a parent's mode. */
    for (size_t length = strlen(step); length > 1 && step[length - 1] == '/'; length--)
        step[length - 1] = '\0';
    for (char *slash = strchr(step + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(step, 0755) < 0 && errno != EEXIST)
            return error_set_errno(err, ERROR_INTERNAL, errno, "cannot make the folder %s", step);
        *slash = '/';
    }
    if (mkdir(step, mode) == 0) {
        if (chmod(step, mode) < 0) /* the umask may have taken bits that QEMU's user needs */
            return error_set_errno(err, ERROR_INTERNAL, errno, "cannot set the mode of %s", path);
        return 0;
    }
    if (errno != EEXIST)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot make the folder %s", path);
    struct stat info;
    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode))
        return error_set(err, ERROR_INTERNAL, "%s is in the way: it is not a folder", path);
    return 0;
}

int file_remove(const char *path, struct error *err)
{
    if (unlink(path) < 0 && errno != ENOENT)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot remove %s", path);
    return 0;
}

char *file_shared(const char *name, struct error *err)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        error_set_errno(err, ERROR_INTERNAL, errno, "cannot find where this program is (/proc/self/exe)");
        return NULL;
    }
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    return text_format("%s/../share/berthos/%s", self, name);
}

char *file_absolute(const char *path)
{
    CLEANUP_FREE char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    return path[0] == '/' ? text_copy(path) : file_join(here ? here : "/", path);
}

char *file_join(const char *folder, const char *name)
{
    size_t length = strlen(folder);
    return text_format("%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", name);
}
