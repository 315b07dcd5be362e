#include "doctor/ground.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "config/image_name.h"
#include "image/image.h"

static uint64_t to_nanoseconds(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void stamp_file(const char *path, struct ground_stamp *into)
{
    struct stat info;
    if (!path || lstat(path, &info) < 0)
        return;
    *into = (struct ground_stamp){
        .device = info.st_dev,
        .inode = info.st_ino,
        .size_bytes = (uint64_t)info.st_size,
        .mtime_ns = to_nanoseconds(info.st_mtim),
        .ctime_ns = to_nanoseconds(info.st_ctim),
        .mode = info.st_mode,
        .owner = info.st_uid,
        .group = info.st_gid,
    };
}

static void stamp_image(const struct config *config, struct ground_stamp into[5])
{
    static const char *const suffixes[] = {"json", "qcow2", "kernel", "initrd"};
    char stem[IMAGE_STEM_SIZE];
    stamp_file(config->image_dir, &into[0]);
    if (!image_name_stem(config->image, stem))
        return;
    for (int i = 0; i < 4; i++) {
        CLEANUP_FREE char *path = text_format("%s/%s.%s", config->image_dir, stem, suffixes[i]);
        stamp_file(path, &into[1 + i]);
    }
}

/* proc(5), /proc/PID/stat: field 22, counted after the name, which may hold anything. */
static uint64_t started_at(const char *proc, const char *run_dir, const char *pid_file)
{
    char line[1024];
    int64_t pid;
    if (!probe_number(run_dir, pid_file, &pid) || pid <= 0)
        return 0;
    CLEANUP_FREE char *name = text_format("%lld/stat", (long long)pid);
    if (!probe_line(proc, name, line, sizeof line))
        return 0;
    char *at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

void ground_read(const struct probe_roots *roots, const char *run_dir, const struct config *config,
                 struct ground *ground)
{
    static const char *const pid_files[GROUND_DAEMONS] = {"libvirtd.pid", "virtqemud.pid",
                                                          "libvirt/libvirtd.pid", "libvirt/virtqemud.pid"};
    memset(ground, 0, sizeof *ground);
    CLEANUP_FREE char *kvm = file_join(roots->dev, "kvm");
    stamp_image(config, ground->files);
    stamp_file(kvm, &ground->files[5]);
    ground->files[5].mtime_ns =
        0; /* any open for writing may move a device's; ctime tells of mode and owner */
    stamp_file(config->path, &ground->files[6]);
    for (int i = 0; i < GROUND_DAEMONS && run_dir; i++) {
        CLEANUP_FREE char *path = file_join(run_dir, pid_files[i]);
        stamp_file(path, &ground->daemons[i]);
        ground->started[i] = started_at(roots->proc, run_dir, pid_files[i]);
    }
}

bool ground_same(const struct ground *a, const struct ground *b)
{
    bool daemon = false;
    for (int i = 0; i < GROUND_DAEMONS; i++)
        daemon = daemon || a->daemons[i].inode != 0;
    return daemon && memcmp(a, b, sizeof *a) == 0;
}

char *ground_run_dir(const struct config *config)
{
    if (strstr(config->libvirt_uri,
               "?socket=")) /* a daemon of somebody's own: it may keep its pid anywhere */
        return NULL;
    if (text_starts(config->libvirt_uri, "qemu:///system"))
        return text_copy("/run");
    return text_copy(getenv("XDG_RUNTIME_DIR"));
}
