#include "image/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"

enum { QEMU_IMG_TIMEOUT_MS = 20000 };

#define GIB (UINT64_C(1) << 30)

uint64_t overlay_room_bytes(int64_t disk_gib)
{
    return (uint64_t)(disk_gib < OVERLAY_ROOM_GIB ? disk_gib : OVERLAY_ROOM_GIB) * GIB;
}

static int check_room(int fd, const char *path, int64_t disk_gib, struct error *err)
{
    struct statvfs room;
    if (fstatvfs(fd, &room) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot tell the room left for %s", path);
    uint64_t free_bytes = (uint64_t)room.f_bavail * room.f_frsize, needed = overlay_room_bytes(disk_gib);
    if (free_bytes < needed)
        return error_set(err, ERROR_NO_CAPACITY,
                         "no room for the lease's disk %s: %" PRIu64 " MiB are free there, %" PRIu64
                         " MiB are needed; make room or set state_dir to a larger file system",
                         path, free_bytes >> 20, needed >> 20);
    return 0;
}

static int run_qemu_img(int fd, const char *path, const struct image *image, const char *golden,
                        int64_t disk_gib, struct error *err)
{
    uint64_t size = (uint64_t)disk_gib * GIB;
    if (size < image->virtual_size_bytes)
        size = image->virtual_size_bytes;
    CLEANUP_FREE char *size_text = text_format("%" PRIu64, size);
    static const char options[] = "compat=1.1,lazy_refcounts=off,preallocation=off";
    const char *backing = golden ? golden : image->parts[IMAGE_DISK].path;
    const char *const argv[] = {"qemu-img", "create", "-q", "-f",    "qcow2", "-F",      "qcow2",
                                "-b",       backing,  "-o", options, path,    size_text, NULL};
    if (process_run(argv, QEMU_IMG_TIMEOUT_MS, NULL, err) == 0)
        return 0;
    /* qemu-img says in words alone why it failed: whether room is short now is asked once more */
    struct error ignored = ERROR_INIT;
    error_recode(err, check_room(fd, path, disk_gib, &ignored) < 0 ? ignored.code : ERROR_INTERNAL);
    return error_prefix(err, "cannot make the lease's disk %s", path);
}

static int give_file(int fd, const char *path, struct overlay_owner owner, struct error *err)
{
    bool to_somebody = owner.uid != (uid_t)-1 || owner.gid != (gid_t)-1;
    if ((!to_somebody || fchown(fd, owner.uid, owner.gid) == 0) &&
        fchmod(fd, owner.uid != (uid_t)-1 ? 0600 : 0660) == 0)
        return 0;
    return error_set_errno(err, ERROR_INTERNAL, errno,
                           "cannot give the lease's disk %s to QEMU (uid %d, gid %d)", path, (int)owner.uid,
                           (int)owner.gid);
}

int overlay_create(const char *path, const struct image *image, const char *golden, int64_t disk_gib,
                   struct overlay_owner owner, struct error *err)
{
    /* claimed by us first: qemu-img would write over whatever is there, also through a link */
    CLEANUP_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set_errno(err, errno == ENOSPC || errno == EDQUOT ? ERROR_NO_CAPACITY : ERROR_INTERNAL,
                               errno, "cannot make the lease's disk %s", path);
    int result = check_room(fd, path, disk_gib, err);
    if (result == 0)
        result = run_qemu_img(fd, path, image, golden, disk_gib, err);
    if (result == 0)
        result = give_file(fd, path, owner, err);
    if (result < 0)
        unlink(path);
    return result;
}

int overlay_remove(const char *path, struct error *err)
{
    return file_remove(path, err);
}
