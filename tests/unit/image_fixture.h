/* A small image in a folder of its own for tests: a real qcow2 with other bytes as kernel and initrd. */
#ifndef BERTHOS_TESTS_IMAGE_FIXTURE_H
#define BERTHOS_TESTS_IMAGE_FIXTURE_H

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/document.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "image/image.h"
#include "protocol/labels.h"

#define FIXTURE_NAME "unit-guest:v1"
#define FIXTURE_STEM "unit-guest-v1"

struct fixture {
    char folder[128]; /* a fresh folder, 0755, on the disk: tmpfs timestamps are no different */
    char cache[160];
    json_t *manifest;
};

/* Everything here must work for the test to mean anything, in every build type. */
#define REQUIRE(what)                                                                                        \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            fprintf(stderr, "%s:%d: needed for the test: %s\n", __FILE__, __LINE__, #what);                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static inline char *fixture_path(const struct fixture *fixture, const char *name)
{
    return file_join(fixture->folder, name);
}

static inline void fixture_write(const char *path, const void *data, size_t size)
{
    struct error err = ERROR_INIT;
    REQUIRE(file_write_atomic(path, 0444, data, size, &err) == 0);
}

/* Puts sha256 and size of a file into the manifest document. */
static inline void fixture_describe(struct fixture *fixture, const char *key, const char *name)
{
    CLEANUP_FREE char *path = fixture_path(fixture, name);
    CLEANUP_FREE char *data = NULL;
    size_t size;
    char sha256[DIGEST_HEX_SIZE];
    struct error err = ERROR_INIT;
    REQUIRE(file_read(path, 64u << 20, &data, &size, &err) == 0);
    digest_buffer(data, size, sha256);
    json_object_set_new(
        json_object_get(fixture->manifest, "files"), key,
        json_pack("{s:s, s:s, s:I}", "file", name, "sha256", sha256, "size", (json_int_t)size));
}

static inline void fixture_write_manifest(struct fixture *fixture)
{
    CLEANUP_FREE char *path = fixture_path(fixture, FIXTURE_STEM ".json");
    CLEANUP_FREE char *text = document_pretty(fixture->manifest);
    fixture_write(path, text, strlen(text));
}

/* Runs qemu-img in the folder of the fixture's disk. */
static inline void fixture_qemu_img(const char *const argv[])
{
    struct error err = ERROR_INIT;
    if (process_run(argv, 20000, NULL, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static inline void fixture_make_disk(struct fixture *fixture)
{
    CLEANUP_FREE char *disk = fixture_path(fixture, FIXTURE_STEM ".qcow2");
    const char *const argv[] = {"qemu-img", "create", "-q", "-f", "qcow2", disk, "64M", NULL};
    fixture_qemu_img(argv);
    REQUIRE(chmod(disk, 0444) == 0);
}

static inline void fixture_make(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/berthos-unit-XXXXXX");
    REQUIRE(mkdtemp(fixture->folder) && chmod(fixture->folder, 0755) == 0);
    snprintf(fixture->cache, sizeof fixture->cache, "%s/verified.json", fixture->folder);
    fixture->manifest = json_pack(
        "{s:s, s:s, s:{s:s, s:s, s:s, s:s}, s:{}, s:I, s:s, s:{s:i, s:i}, s:s, s:b, s:s, s:s}", "schema",
        "berthos.image/1", "name", FIXTURE_NAME, "labels", LABEL_VERSION_KEY, LABEL_VERSION,
        LABEL_DESKTOP_KEY, LABEL_DESKTOP, LABEL_EGRESS_KEY, LABEL_EGRESS, LABEL_DISPLAY_KEY,
        "xorg-virtio-gpu", "files", "virtual_size", (json_int_t)(64 << 20), "cmdline", "root=/dev/vda",
        "display", "width", 1280, "height", 800, "created", "2026-01-31T23:59:59.123Z", "test_only", 0,
        "packages_digest", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "recipe_digest", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    REQUIRE(fixture->manifest);
    fixture_make_disk(fixture);
    CLEANUP_FREE char *kernel = fixture_path(fixture, FIXTURE_STEM ".kernel");
    CLEANUP_FREE char *initrd = fixture_path(fixture, FIXTURE_STEM ".initrd");
    fixture_write(kernel, "a kernel", 8);
    fixture_write(initrd, "an initrd", 9);
    fixture_describe(fixture, "disk", FIXTURE_STEM ".qcow2");
    fixture_describe(fixture, "kernel", FIXTURE_STEM ".kernel");
    fixture_describe(fixture, "initrd", FIXTURE_STEM ".initrd");
    fixture_write_manifest(fixture);
}

static inline void fixture_remove(struct fixture *fixture)
{
    struct error err = ERROR_INIT;
    const char *const argv[] = {"rm", "-rf", fixture->folder, NULL};
    process_run(argv, 10000, NULL, &err);
    json_decref(fixture->manifest);
}

static inline struct image_options fixture_options(const struct fixture *fixture)
{
    return (struct image_options){.image_dir = fixture->folder, .name = FIXTURE_NAME};
}

#endif
