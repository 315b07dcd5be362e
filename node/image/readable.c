/* By owner and mode of every step of the path. */
#include "image/readable.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/user.h"

static bool in_group(gid_t gid, const gid_t *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i] == gid)
            return true;
    return false;
}

/* The permission bits (rwx as 4, 2, 1) that the class of this user gets; POSIX: the first class that fits
 * counts. */
static unsigned bits_for(const struct stat *info, uid_t uid, const gid_t *groups, size_t count)
{
    if (uid == 0)
        return S_ISDIR(info->st_mode) || (info->st_mode & 0111) ? 7 : 6;
    if (info->st_uid == uid)
        return (info->st_mode >> 6) & 7;
    if (in_group(info->st_gid, groups, count))
        return (info->st_mode >> 3) & 7;
    return info->st_mode & 7;
}

static int refuse_step(const char *step, const struct stat *info, bool folder, const char *elsewhere,
                       uid_t uid, struct error *err)
{
    CLEANUP_FREE char *user = user_label(uid);
    const char *bit = folder ? "x" : "r";
    return error_set(
        err, ERROR_IMAGE,
        "%s %s (mode %04o, owner uid %u) cannot be %s by QEMU's user %s: run chmod o+%s %s, or %s",
        folder ? "the folder" : "the file", step, (unsigned)(info->st_mode & 07777), (unsigned)info->st_uid,
        folder ? "entered" : "read", user, bit, step, elsewhere);
}

struct walker {
    uid_t uid;
    const gid_t *groups;
    size_t group_count;
};

/* Every step of the path; the last is a file to be read, or a folder like the others. */
static int walk_path(const char *path, bool file, const char *elsewhere, const struct walker *walker,
                     struct error *err)
{
    char resolved[PATH_MAX];
    if (!realpath(path, resolved))
        return error_set_errno(err, ERROR_IMAGE, errno, "cannot look at %s", path);
    for (char *slash = resolved;; slash = strchr(slash + 1, '/')) {
        struct stat info;
        char kept = '\0';
        if (slash) {
            size_t at = slash == resolved ? 1 : (size_t)(slash - resolved);
            kept = resolved[at];
            resolved[at] = '\0';
        }
        if (stat(resolved, &info) < 0)
            return error_set_errno(err, ERROR_IMAGE, errno, "cannot look at %s", resolved);
        bool folder = slash || !file;
        if (!(bits_for(&info, walker->uid, walker->groups, walker->group_count) & (folder ? 1U : 4U)))
            return refuse_step(resolved, &info, folder, elsewhere, walker->uid, err);
        if (!slash)
            return 0;
        resolved[slash == resolved ? 1 : slash - resolved] = kept;
    }
}

int image_readable_for(const char *path, uid_t uid, const gid_t *groups, size_t group_count,
                       struct error *err)
{
    return walk_path(path, true, "keep the image elsewhere, as in /var/lib/berthos/images",
                     &(struct walker){uid, groups, group_count}, err);
}

int image_enterable_for(const char *path, uid_t uid, const gid_t *groups, size_t group_count,
                        struct error *err)
{
    return walk_path(path, false, "set state_dir to another folder, as /var/lib/berthos",
                     &(struct walker){uid, groups, group_count}, err);
}
