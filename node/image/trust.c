#include "image/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

static int64_t to_nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

struct image_identity image_identity_of(const struct stat *info)
{
    return (struct image_identity){
        .device = info->st_dev,
        .inode = info->st_ino,
        .size_bytes = (uint64_t)info->st_size,
        .mtime_ns = to_nanoseconds(info->st_mtim),
        .ctime_ns = to_nanoseconds(info->st_ctim),
    };
}

bool image_identity_same(const struct image_identity *a, const struct image_identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
           a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

int trust_check_owner(const struct stat *info, const char *path, struct error *err)
{
    bool sticky_folder = S_ISDIR(info->st_mode) && (info->st_mode & S_ISVTX);
    if (info->st_uid != 0 && info->st_uid != geteuid())
        return error_set(err, ERROR_IMAGE,
                         "%s belongs to uid %u, who could change what guests start from: run chown root %s, "
                         "or keep it in a folder of root's",
                         path, (unsigned)info->st_uid, path);
    if ((info->st_mode & 0022) && !sticky_folder)
        return error_set(err, ERROR_IMAGE, "%s (mode %04o) may be written by others: run chmod go-w %s", path,
                         (unsigned)(info->st_mode & 07777), path);
    return 0;
}

/* Every folder from / down to the (resolved) folder: who may write one of them may exchange what is below. */
static int check_parents(const char *folder, struct error *err)
{
    CLEANUP_FREE char *step = text_copy(folder);
    for (char *slash = step; slash; slash = strchr(slash + 1, '/')) {
        size_t at = slash == step ? 1 : (size_t)(slash - step);
        char kept = step[at];
        struct stat info;
        step[at] = '\0';
        if (stat(step, &info) < 0)
            return error_set_errno(err, ERROR_IMAGE, errno, "cannot look at the folder %s", step);
        if (trust_check_owner(&info, step, err) < 0)
            return -1;
        step[at] = kept;
        if (slash == step && kept == '\0')
            break;
    }
    return 0;
}

int trust_open_folder(const char *resolved, struct error *err)
{
    CLEANUP_CLOSE int fd = open(resolved, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, ERROR_IMAGE, errno, "cannot open the folder %s", resolved);
    /* the folder itself: sticky is not enough, new names beside ours are not wanted either */
    if (info.st_mode & 0022)
        return error_set(err, ERROR_IMAGE,
                         "the folder %s (mode %04o) may be written by others: run chmod go-w %s", resolved,
                         (unsigned)(info.st_mode & 07777), resolved);
    if (trust_check_owner(&info, resolved, err) < 0 || check_parents(resolved, err) < 0)
        return -1;
    return TAKE_FD(fd);
}

int trust_read_private(const char *path, size_t max_bytes, char **text, size_t *size, struct error *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0)
        return error_set_errno(err, fd < 0 && errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IMAGE, errno,
                               "cannot open %s", path);
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 0077) != 0)
        return error_set(err, ERROR_IMAGE, "%s is not a private file of this user", path);
    if (info.st_size < 0 || (uintmax_t)info.st_size > max_bytes)
        return error_set(err, ERROR_IMAGE, "%s is larger than the %zu bytes that it may have", path,
                         max_bytes);
    CLEANUP_FREE char *read = malloc((size_t)info.st_size + 1);
    ssize_t got = read ? pread(fd, read, (size_t)info.st_size, 0) : -1;
    if (got != info.st_size)
        return error_set(err, ERROR_IMAGE, "cannot read %s whole", path);
    read[got] = '\0';
    *text = TAKE(read);
    *size = (size_t)got;
    return 0;
}
