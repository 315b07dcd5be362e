#include "image/golden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/text.h"
#include "image/cache.h"
#include "image/trust.h"

#define SCHEMA "berthos.golden/1"

enum { DOCUMENT_MAX_BYTES = 16 * 1024, DISK_MODE = 0440, STATE_MODE = 0600, BOOT_WRITES_MIB = 1024 };

/* What may stand after "NAME.": the three files, and what a crash leaves of them in the making. */
static const char *const suffixes[] = {"json", "state", "qcow2", "state.*.part", "json.*.tmp"};

static char *path_of(const char *folder, const char *name, const char *suffix)
{
    CLEANUP_FREE char *file = text_format("%s.%s", name, suffix);
    return file_join(folder, file);
}

char *golden_disk(const char *folder, const char *name)
{
    return path_of(folder, name, "qcow2");
}

char *golden_state(const char *folder, const char *name)
{
    return path_of(folder, name, "state");
}

uint64_t golden_room_bytes(int64_t mem_mib)
{
    return ((uint64_t)mem_mib + BOOT_WRITES_MIB) << 20;
}

/* --- the key --------------------------------------------------------------------------------------- */

/* The value of the first line "name<tabs>: value" of /proc/cpuinfo but its very first. *Owned*; "" without
 * one. */
static char *cpu_field(const char *info, const char *name)
{
    CLEANUP_FREE char *start = text_format("\n%s\t", name);
    const char *line = strstr(info, start);
    const char *value = line ? strstr(line, ": ") : NULL;
    return value ? text_format("%.*s", (int)strcspn(value + 2, "\n"), value + 2) : text_copy("");
}

void golden_host_cpu(char cpu[GOLDEN_CPU_SIZE])
{
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE char *info = NULL;
    cpu[0] = '\0';
    if (file_read("/proc/cpuinfo", 16u << 20, &info, NULL, &ignored) < 0)
        return;
    CLEANUP_FREE char *vendor = cpu_field(info, "vendor_id");
    CLEANUP_FREE char *family = cpu_field(info, "cpu family");
    CLEANUP_FREE char *model = cpu_field(info, "model");
    CLEANUP_FREE char *stepping = cpu_field(info, "stepping");
    CLEANUP_FREE char *flags = cpu_field(info, "flags");
    char digest[DIGEST_HEX_SIZE];
    digest_buffer(flags, strlen(flags), digest);
    if (vendor[0])
        snprintf(cpu, GOLDEN_CPU_SIZE, "%.32s %.8s %.8s %.8s %.16s", vendor, family, model, stepping, digest);
}

static json_t *encode_key(const struct golden_key *key)
{
    return json_pack("{s:s, s:I, s:I, s:s, s:b, s:s, s:I, s:I, s:I, s:s}", "image_digest", key->image_digest,
                     "libvirt_version", (json_int_t)key->libvirt_version, "qemu_version",
                     (json_int_t)key->qemu_version, "machine", key->machine, "kvm", key->kvm, "cpu", key->cpu,
                     "vcpu", (json_int_t)key->vcpu, "mem_mib", (json_int_t)key->mem_mib, "disk_gib",
                     (json_int_t)key->disk_gib, "uuid", key->uuid);
}

static char *value_text(const json_t *value)
{
    return value ? document_text(value) : text_copy("nothing");
}

/* Compares field by field, so that the sentence can say which one moved. */
static int check_key(const char *path, const json_t *kept, const struct golden_key *key, struct error *err)
{
    CLEANUP_JSON json_t *wanted = encode_key(key);
    const char *name;
    json_t *value;
    json_object_foreach(wanted, name, value)
    {
        const json_t *found = json_object_get(kept, name);
        if (json_equal(found, value))
            continue;
        CLEANUP_FREE char *then = value_text(found);
        CLEANUP_FREE char *now = value_text(value);
        return error_set(err, ERROR_IMAGE, "%s was made for another %s: %.80s then, %.80s now", path, name,
                         then, now);
    }
    return 0;
}

/* --- the state's file ------------------------------------------------------------------------------ */

static json_t *encode_state(const struct stat *info)
{
    struct image_identity identity = image_identity_of(info);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "size", (json_int_t)identity.size_bytes, "mtime_ns",
                     (json_int_t)identity.mtime_ns, "ctime_ns", (json_int_t)identity.ctime_ns, "device",
                     (json_int_t)identity.device, "inode", (json_int_t)identity.inode, "uid",
                     (json_int_t)info->st_uid);
}

/*
 * The state is too large to be hashed before each use, and a node that is not root cannot read what libvirt
 * wrote. It is known by its identity: no write, and no other file in its place, leaves the ctime as it was,
 * and libvirt's restore does (a test in tests/platform holds that).
 */
static int check_state(const char *path, const json_t *kept, struct error *err)
{
    struct stat info;
    if (lstat(path, &info) < 0)
        return error_set_errno(err, ERROR_IMAGE, errno, "cannot look at the saved guest %s", path);
    if (!S_ISREG(info.st_mode) || (info.st_mode & 07777) != STATE_MODE)
        return error_set(err, ERROR_IMAGE, "the saved guest %s is not a file of mode 0600 (mode %04o)", path,
                         (unsigned)(info.st_mode & 07777));
    CLEANUP_JSON json_t *now = encode_state(&info);
    const char *name;
    json_t *value;
    json_object_foreach(now, name, value)
    {
        const json_t *then = json_object_get(kept, name);
        if (!json_equal(then, value))
            return error_set(
                err, ERROR_IMAGE,
                "the saved guest %s is not the file that was kept: its %s is %" JSON_INTEGER_FORMAT
                ", and was %" JSON_INTEGER_FORMAT,
                path, name, json_integer_value(value), json_integer_value(then));
    }
    return 0;
}

/* --- the disk -------------------------------------------------------------------------------------- */

static int open_disk(const char *path, struct stat *info, struct error *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, info) < 0)
        return error_set_errno(err, ERROR_IMAGE, errno, "cannot open the golden disk %s", path);
    if (!S_ISREG(info->st_mode))
        return error_set(err, ERROR_IMAGE, "the golden disk %s is not a regular file", path);
    return TAKE_FD(fd);
}

static int check_disk(const char *path, const json_t *kept, const char *cache_path, struct error *err)
{
    struct stat info;
    char now[DIGEST_HEX_SIZE];
    const char *sha256 = json_string_value(json_object_get(kept, "sha256"));
    CLEANUP_CLOSE int fd = open_disk(path, &info, err);
    if (fd < 0 || trust_check_owner(&info, path, err) < 0)
        return -1;
    if ((info.st_mode & 07777) != DISK_MODE)
        return error_set(err, ERROR_IMAGE, "the golden disk %s has the mode %04o, which must be %04o", path,
                         (unsigned)(info.st_mode & 07777), DISK_MODE);
    if (!sha256 || info.st_size != json_integer_value(json_object_get(kept, "size")))
        return error_set(err, ERROR_IMAGE, "the golden disk %s has another size than when it was kept", path);
    struct image_identity identity = image_identity_of(&info);
    if (cache_has(cache_path, &identity, sha256))
        return 0;
    if (digest_file(fd, path, NULL, NULL, now, err) < 0)
        return error_recode(err, ERROR_IMAGE);
    if (strcmp(now, sha256) != 0)
        return error_set(err, ERROR_IMAGE,
                         "the golden disk %s has the sha256 %s, and had %s when it was kept", path, now,
                         sha256);
    cache_add(cache_path, &identity, sha256);
    return 0;
}

/* --- check ----------------------------------------------------------------------------------------- */

static json_t *read_document(const char *path, struct error *err)
{
    static const char *const allowed[] = {"schema", "made", "key", "disk", "state", NULL};
    CLEANUP_FREE char *text = NULL;
    size_t size;
    if (trust_read_private(path, DOCUMENT_MAX_BYTES, &text, &size, err) < 0)
        return NULL;
    CLEANUP_JSON json_t *document = document_parse(text, size, err);
    const char *schema = json_string_value(json_object_get(document, "schema"));
    if (document && (!schema || strcmp(schema, SCHEMA) != 0))
        error_set(err, ERROR_IMAGE, "its schema is not " SCHEMA);
    else if (document && document_keys(document, allowed, err) == 0)
        return TAKE(document);
    error_recode(err, ERROR_IMAGE);
    error_prefix(err, "%s cannot be understood", path);
    return NULL;
}

static int check_folder(const char *folder, struct error *err)
{
    char resolved[PATH_MAX];
    if (!realpath(folder, resolved))
        return error_set_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IMAGE, errno,
                               "cannot open the folder %s", folder);
    CLEANUP_CLOSE int fd = trust_open_folder(resolved, err);
    return fd < 0 ? -1 : 0;
}

int golden_check(const char *folder, const char *name, const struct golden_key *key, const char *cache_path,
                 struct error *err)
{
    if (check_folder(folder, err) < 0)
        return -1;
    CLEANUP_FREE char *path = path_of(folder, name, "json");
    CLEANUP_FREE char *state = golden_state(folder, name);
    CLEANUP_FREE char *disk = golden_disk(folder, name);
    CLEANUP_JSON json_t *document = read_document(path, err);
    if (!document)
        return -1;
    if (check_key(path, json_object_get(document, "key"), key, err) < 0 ||
        check_state(state, json_object_get(document, "state"), err) < 0 ||
        check_disk(disk, json_object_get(document, "disk"), cache_path, err) < 0)
        return -1;
    return 0;
}

/* --- keep ------------------------------------------------------------------------------------------ */

/*
 * Brings a file to the disk: a document must not promise what a power cut has taken. Where we may not open
 * the file, libvirt's, everything on its file system goes.
 */
static int sync_file(const char *folder, const char *path, struct error *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    CLEANUP_CLOSE int system = fd < 0 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0 ? fsync(fd) == 0 : system >= 0 && syncfs(system) == 0)
        return 0;
    return error_set_errno(err, ERROR_INTERNAL, errno, "cannot bring %s to the disk", path);
}

/* Makes a file ours that was QEMU's; its group stays. As another user than root we leave the owner: what is
 * ours already is, and what is libvirt's own nobody but root can change. */
static int make_ours(const char *path, mode_t mode, struct error *err)
{
    struct stat info;
    if (lstat(path, &info) < 0)
        return error_set_errno(err, ERROR_IMAGE, errno, "cannot look at %s", path);
    if (!S_ISREG(info.st_mode))
        return error_set(err, ERROR_IMAGE, "%s is not a regular file", path);
    if (geteuid() == 0 && info.st_uid != 0 && lchown(path, 0, (gid_t)-1) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot take %s over", path);
    if ((info.st_mode & 07777) != mode && chmod(path, mode) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot set the mode of %s", path);
    return 0;
}

static json_t *describe_disk(const char *path, const char *cache_path, struct error *err)
{
    struct stat info;
    char sha256[DIGEST_HEX_SIZE];
    CLEANUP_CLOSE int fd = open_disk(path, &info, err);
    if (fd < 0 || digest_file(fd, path, NULL, NULL, sha256, err) < 0)
        return NULL;
    struct image_identity identity = image_identity_of(&info);
    cache_add(cache_path, &identity, sha256);
    return json_pack("{s:s, s:I}", "sha256", sha256, "size", (json_int_t)info.st_size);
}

static json_t *describe_state(const char *path, struct error *err)
{
    struct stat info;
    if (lstat(path, &info) < 0) {
        error_set_errno(err, ERROR_INTERNAL, errno, "cannot look at the saved guest %s", path);
        return NULL;
    }
    return encode_state(&info);
}

static int write_document(const char *path, const struct golden_key *key, json_t *disk, json_t *state,
                          struct error *err)
{
    char made[CLOCK_TEXT_SIZE];
    clock_format(clock_realtime_ms(), made);
    CLEANUP_JSON json_t *document = json_pack("{s:s, s:s, s:o, s:O, s:O}", "schema", SCHEMA, "made", made,
                                              "key", encode_key(key), "disk", disk, "state", state);
    CLEANUP_FREE char *text = document_pretty(document);
    return file_write_atomic(path, 0600, text, strlen(text), err);
}

static int keep_files(const char *folder, const char *name, const struct golden_key *key, const char *overlay,
                      const char *cache_path, struct error *err)
{
    CLEANUP_FREE char *path = path_of(folder, name, "json");
    CLEANUP_FREE char *state = golden_state(folder, name);
    CLEANUP_FREE char *disk = golden_disk(folder, name);
    if (file_remove(path, err) < 0 || make_ours(overlay, DISK_MODE, err) < 0 ||
        make_ours(state, STATE_MODE, err) < 0)
        return -1;
    if (rename(overlay, disk) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot move %s to %s", overlay, disk);
    fault_point("golden.moved");
    if (sync_file(folder, disk, err) < 0 || sync_file(folder, state, err) < 0)
        return -1;
    CLEANUP_JSON json_t *disk_facts = describe_disk(disk, cache_path, err);
    CLEANUP_JSON json_t *state_facts = disk_facts ? describe_state(state, err) : NULL;
    if (!state_facts)
        return -1;
    fault_point("golden.hashed");
    return write_document(path, key, disk_facts, state_facts, err);
}

int golden_keep(const char *folder, const char *name, const struct golden_key *key, const char *overlay,
                const char *cache_path, struct error *err)
{
    struct error ignored = ERROR_INIT;
    if (keep_files(folder, name, key, overlay, cache_path, err) == 0)
        return 0;
    golden_drop(folder, name, &ignored);
    file_remove(overlay, &ignored);
    return error_prefix(err, "the golden state %s was not kept", name);
}

/* --- drop and sweep -------------------------------------------------------------------------------- */

/* Whether an entry of the folder is "NAME." and one of the suffixes. */
static bool read_entry(const char *entry, char name[NAME_MAX + 1])
{
    const char *dot = strchr(entry, '.');
    if (!dot || dot == entry)
        return false;
    snprintf(name, NAME_MAX + 1, "%.*s", (int)(dot - entry), entry);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (fnmatch(suffixes[i], dot + 1, 0) == 0)
            return true;
    return false;
}

/* *store is NULL where there is no such folder. *Owned*: closedir(). */
static int open_store(const char *folder, DIR **store, struct error *err)
{
    *store = opendir(folder);
    if (*store || errno == ENOENT)
        return 0;
    return error_set_errno(err, ERROR_INTERNAL, errno, "cannot look into the folder %s", folder);
}

int golden_drop(const char *folder, const char *name, struct error *err)
{
    CLEANUP_FREE char *document = path_of(folder, name, "json");
    CLEANUP_FOLDER DIR *store = NULL;
    if (file_remove(document, err) < 0 || open_store(folder, &store, err) < 0)
        return -1;
    const struct dirent *entry;
    while (store && (entry = readdir(store))) {
        char found[NAME_MAX + 1];
        if (!read_entry(entry->d_name, found) || strcmp(found, name) != 0)
            continue;
        if (unlinkat(dirfd(store), entry->d_name, 0) < 0 && errno != ENOENT)
            return error_set_errno(err, ERROR_INTERNAL, errno, "cannot remove %s/%s", folder, entry->d_name);
    }
    return 0;
}

static bool is_one_of(const char *name, const char *const keep[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, keep[i]) == 0)
            return true;
    return false;
}

int golden_sweep(const char *folder, const char *prefix, const char *const keep[], size_t count,
                 struct error *err)
{
    CLEANUP_FOLDER DIR *store = NULL;
    if (open_store(folder, &store, err) < 0)
        return -1;
    const struct dirent *entry;
    while (store && (entry = readdir(store))) {
        char name[NAME_MAX + 1];
        struct stat info;
        bool ours = read_entry(entry->d_name, name) && text_starts(name, prefix) &&
                    fstatat(dirfd(store), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(info.st_mode);
        if (ours && !is_one_of(name, keep, count) && golden_drop(folder, name, err) < 0)
            return -1;
    }
    return 0;
}
