#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "config/image_name.h"
#include "image/cache.h"
#include "image/qcow2.h"
#include "image/trust.h"

/* What is done so far of all that has to be hashed. */
struct hashing {
    const struct image_options *options;
    uint64_t before_bytes, total_bytes;
};

/* Says what kind of fault an error is that was set. Returns -1. */
static int set_fault(enum image_fault *fault, enum image_fault value, int failed)
{
    *fault = value;
    return failed;
}

/* Opens the image folder, with its resolved path: what is verified here is what QEMU is given by path. */
static int open_folder(const char *image_dir, char resolved[PATH_MAX], enum image_fault *fault,
                       struct error *err)
{
    if (!realpath(image_dir, resolved)) {
        int failure = errno;
        return set_fault(
            fault, failure == ENOENT ? IMAGE_FAULT_MISSING : IMAGE_FAULT_UNREADABLE,
            error_set_errno(err, ERROR_IMAGE, failure,
                            "cannot open the image folder %s (run: berth image build, or set image_dir)",
                            image_dir));
    }
    CLEANUP_CLOSE int fd = trust_open_folder(resolved, err);
    if (fd < 0)
        return set_fault(fault, IMAGE_FAULT_UNREADABLE, -1);
    return TAKE_FD(fd);
}

/* Opens one file of the image. All further checks go by this descriptor, so a later swap cannot matter. */
static int open_file(int folder, const char *path, struct image_identity *identity, enum image_fault *fault,
                     struct error *err)
{
    const char *name = strrchr(path, '/') + 1;
    CLEANUP_CLOSE int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    if (fd < 0 && errno == ENOENT)
        return set_fault(fault, IMAGE_FAULT_MISSING,
                         error_set(err, ERROR_IMAGE,
                                   "%s is not there: run berth image build, or set image and image_dir",
                                   path));
    if (fd < 0 && errno == ELOOP)
        return set_fault(fault, IMAGE_FAULT_UNREADABLE,
                         error_set(err, ERROR_IMAGE,
                                   "%s is a symbolic link, which is not followed: put the file itself there",
                                   path));
    if (fd < 0 || fstat(fd, &info) < 0)
        return set_fault(fault, IMAGE_FAULT_UNREADABLE,
                         error_set_errno(err, ERROR_IMAGE, errno, "cannot open %s", path));
    if (!S_ISREG(info.st_mode))
        return set_fault(fault, IMAGE_FAULT_UNREADABLE,
                         error_set(err, ERROR_IMAGE, "%s is not a regular file", path));
    if (trust_check_owner(&info, path, err) < 0)
        return set_fault(fault, IMAGE_FAULT_UNREADABLE, -1);
    *identity = image_identity_of(&info);
    return TAKE_FD(fd);
}

static int read_start(int fd, const char *path, void *buffer, size_t size, size_t *got, struct error *err)
{
    *got = 0;
    while (*got < size) {
        ssize_t count = pread(fd, (char *)buffer + *got, size - *got, (off_t)*got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return error_set_errno(err, ERROR_IMAGE, errno, "cannot read %s", path);
        if (count == 0)
            break;
        *got += (size_t)count;
    }
    return 0;
}

static int read_manifest(int folder, const char *resolved, const struct image_options *options,
                         struct image *image, enum image_fault *fault, struct error *err)
{
    char stem[IMAGE_STEM_SIZE];
    if (!image_name_stem(options->name, stem))
        return set_fault(fault, IMAGE_FAULT_MISSING,
                         error_set(err, ERROR_IMAGE,
                                   "\"%.64s\" is not an image name: it must be name:version in lower-case "
                                   "letters, digits, '.' and '-'",
                                   options->name));
    image->manifest_path = text_format("%s/%s.json", strcmp(resolved, "/") == 0 ? "" : resolved, stem);
    CLEANUP_CLOSE int fd = open_file(folder, image->manifest_path, &image->manifest_identity, fault, err);
    if (fd < 0)
        return -1;
    CLEANUP_FREE char *text = memory_new(MANIFEST_MAX_BYTES + 1);
    size_t size;
    if (read_start(fd, image->manifest_path, text, MANIFEST_MAX_BYTES + 1, &size, err) < 0)
        return set_fault(fault, IMAGE_FAULT_UNREADABLE, -1);
    digest_buffer(text, size, image->manifest_sha256);
    if (manifest_decode(text, size, resolved, image, err) < 0)
        return set_fault(fault, IMAGE_FAULT_TAMPERED,
                         error_prefix(err, "the manifest %s is not usable (run: berth image build %s)",
                                      image->manifest_path, options->name));
    return 0;
}

static int check_offer(const struct image_options *options, const struct image *image,
                       enum image_fault *fault, struct error *err)
{
    if (strcmp(image->name, options->name) != 0)
        error_set(err, ERROR_IMAGE, "%s is the manifest of %s, not of %s: run berth image build %s",
                  image->manifest_path, image->name, options->name, options->name);
    else if (manifest_check_labels(image->labels, err) < 0)
        error_prefix(err, "the image %s is not of this node's contract (run: berth image build %s): in %s",
                     image->name, image->name, image->manifest_path);
    else if (options->pinned_digest && strcmp(options->pinned_digest, image->manifest_sha256) != 0)
        error_set(err, ERROR_IMAGE,
                  "the manifest %s has the sha256 %s, but image_digest in node.toml pins %s: build that "
                  "image again, or set image_digest to the new one",
                  image->manifest_path, image->manifest_sha256, options->pinned_digest);
    else
        return 0;
    return set_fault(fault, IMAGE_FAULT_STALE, -1);
}

static void report_progress(void *context, uint64_t done_bytes)
{
    const struct hashing *hashing = context;
    hashing->options->progress(hashing->options->progress_context, hashing->before_bytes + done_bytes,
                               hashing->total_bytes);
}

static int check_bytes(int fd, struct image_part *part, struct hashing *hashing, enum image_fault *fault,
                       struct error *err)
{
    char sha256[DIGEST_HEX_SIZE];
    struct stat info;
    if (digest_file(fd, part->path, hashing->options->progress ? report_progress : NULL, hashing, sha256,
                    err) < 0)
        return set_fault(fault, IMAGE_FAULT_UNREADABLE, error_recode(err, ERROR_IMAGE));
    hashing->before_bytes += part->size_bytes;
    if (strcmp(sha256, part->sha256) != 0)
        return set_fault(fault, IMAGE_FAULT_TAMPERED,
                         error_set(err, ERROR_IMAGE,
                                   "%s has the sha256 %s, its manifest says %s: the file was changed or "
                                   "damaged, run berth image build",
                                   part->path, sha256, part->sha256));
    struct image_identity now = {0};
    if (fstat(fd, &info) == 0)
        now = image_identity_of(&info);
    if (!image_identity_same(&part->identity, &now))
        return set_fault(fault, IMAGE_FAULT_TAMPERED,
                         error_set(err, ERROR_IMAGE,
                                   "%s changed while it was read: try again once nobody writes to it",
                                   part->path));
    cache_add(hashing->options->cache_path, &part->identity, part->sha256);
    return 0;
}

static int check_header(int fd, const struct image *image, enum image_fault *fault, struct error *err)
{
    const struct image_part *disk = &image->parts[IMAGE_DISK];
    CLEANUP_FREE unsigned char *header = malloc(QCOW2_HEADER_BYTES);
    size_t size;
    if (!header || read_start(fd, disk->path, header, QCOW2_HEADER_BYTES, &size, err) < 0)
        return set_fault(fault, IMAGE_FAULT_UNREADABLE, -1);
    if (qcow2_check(header, size, disk->size_bytes, image->virtual_size_bytes, err) < 0)
        return set_fault(fault, IMAGE_FAULT_TAMPERED,
                         error_prefix(err, "the disk %s is refused (run: berth image build)", disk->path));
    return 0;
}

static int verify_files(int folder, const struct image_options *options, struct image *image,
                        enum image_fault *fault, struct error *err)
{
    int fds[IMAGE_FILE_COUNT] = {-1, -1, -1};
    bool known[IMAGE_FILE_COUNT] = {false};
    struct hashing hashing = {.options = options};
    int result = 0;
    for (int i = 0; i < IMAGE_FILE_COUNT && result == 0; i++) {
        struct image_part *part = &image->parts[i];
        fds[i] = open_file(folder, part->path, &part->identity, fault, err);
        result = fds[i] < 0 ? -1 : 0;
        if (result == 0 && part->identity.size_bytes != part->size_bytes) {
            result = set_fault(fault, IMAGE_FAULT_TAMPERED,
                               error_set(err, ERROR_IMAGE,
                                         "%s has %" PRIu64 " bytes, its manifest says %" PRIu64
                                         ": run berth image build",
                                         part->path, part->identity.size_bytes, part->size_bytes));
        }
        known[i] = result == 0 && cache_has(options->cache_path, &part->identity, part->sha256);
        hashing.total_bytes += known[i] ? 0 : part->size_bytes;
    }
    for (int i = 0; i < IMAGE_FILE_COUNT && result == 0; i++)
        if (!known[i])
            result = check_bytes(fds[i], &image->parts[i], &hashing, fault, err);
    if (result == 0)
        result = check_header(fds[IMAGE_DISK], image, fault, err);
    for (int i = 0; i < IMAGE_FILE_COUNT; i++)
        cleanup_close(&fds[i]);
    return result;
}

struct image *image_open(const struct image_options *options, enum image_fault *fault, struct error *err)
{
    enum image_fault ignored;
    if (!fault)
        fault = &ignored;
    *fault = IMAGE_FAULT_NONE;
    char resolved[PATH_MAX];
    CLEANUP_CLOSE int folder = open_folder(options->image_dir, resolved, fault, err);
    if (folder < 0)
        return NULL;
    CLEANUP_IMAGE struct image *image = memory_new(sizeof *image);
    if (read_manifest(folder, resolved, options, image, fault, err) < 0 ||
        check_offer(options, image, fault, err) < 0 || verify_files(folder, options, image, fault, err) < 0 ||
        image_recheck(image, err) < 0) {
        if (*fault == IMAGE_FAULT_NONE)
            *fault = IMAGE_FAULT_TAMPERED;
        return NULL;
    }
    return TAKE(image);
}

static int recheck_file(const char *path, const struct image_identity *identity, struct error *err)
{
    struct stat info;
    if (lstat(path, &info) < 0)
        return error_set_errno(err, ERROR_IMAGE, errno,
                               "the image file %s was verified and cannot be looked at any more", path);
    struct image_identity now = image_identity_of(&info);
    if (!S_ISREG(info.st_mode) || !image_identity_same(identity, &now))
        return error_set(err, ERROR_IMAGE,
                         "the image file %s is not the one that was verified: it was replaced or changed",
                         path);
    return 0;
}

int image_recheck(const struct image *image, struct error *err)
{
    for (int i = 0; i < IMAGE_FILE_COUNT; i++)
        if (recheck_file(image->parts[i].path, &image->parts[i].identity, err) < 0)
            return -1;
    return recheck_file(image->manifest_path, &image->manifest_identity, err);
}

void image_free(struct image *image)
{
    if (!image)
        return;
    for (int i = 0; i < IMAGE_FILE_COUNT; i++)
        free(image->parts[i].path);
    json_decref(image->labels);
    json_decref(image->manifest);
    free(image->name);
    free(image->manifest_path);
    free(image->cmdline);
    free(image->created);
    free(image);
}
