#include "image/cache.h"

#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/log.h"

#define SCHEMA "berthos.verified/1"

enum { CACHE_MAX_BYTES = 64 * 1024, ENTRIES_MAX = 64 };

/* Longer than any file system's timestamp step that QEMU would be used on. */
static const int64_t SETTLE_NS = INT64_C(100) * 1000 * 1000;

static json_t *load_entries(const char *path)
{
    CLEANUP_FREE char *text = NULL;
    size_t size;
    struct error reason = ERROR_INIT;
    if (trust_read_private(path, CACHE_MAX_BYTES, &text, &size, &reason) < 0) {
        if (reason.code != ERROR_NOT_FOUND)
            log_warning("image", "the list of verified files is ignored: %s", reason.text);
        return NULL;
    }
    struct error ignored = ERROR_INIT;
    CLEANUP_JSON json_t *document = document_parse(text, size, &ignored);
    const char *schema = json_string_value(json_object_get(document, "schema"));
    json_t *files = json_object_get(document, "files");
    if (!schema || strcmp(schema, SCHEMA) != 0 || !json_is_array(files))
        return NULL;
    return json_incref(files);
}

static json_t *entry_new(const struct image_identity *identity, const char *sha256)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:s}", "device", (json_int_t)identity->device, "inode",
                     (json_int_t)identity->inode, "size", (json_int_t)identity->size_bytes, "mtime_ns",
                     (json_int_t)identity->mtime_ns, "ctime_ns", (json_int_t)identity->ctime_ns, "sha256",
                     sha256);
}

bool cache_has(const char *path, const struct image_identity *identity, const char *sha256)
{
    CLEANUP_JSON json_t *files = path ? load_entries(path) : NULL;
    CLEANUP_JSON json_t *wanted = entry_new(identity, sha256);
    size_t i;
    json_t *entry;
    json_array_foreach(files, i, entry)
    {
        if (json_equal(entry, wanted))
            return true;
    }
    return false;
}

void cache_add(const char *path, const struct image_identity *identity, const char *sha256)
{
    if (!path || clock_realtime_ms() * 1000000 - identity->ctime_ns < SETTLE_NS)
        return;
    CLEANUP_JSON json_t *files = load_entries(path);
    if (!files)
        files = json_array();
    while (json_array_size(files) >= ENTRIES_MAX)
        json_array_remove(files, 0);
    json_array_append_new(files, entry_new(identity, sha256));
    CLEANUP_JSON json_t *document = json_pack("{s:s, s:O}", "schema", SCHEMA, "files", files);
    CLEANUP_FREE char *text = document_text(document);
    struct error err = ERROR_INIT;
    if (file_write_atomic(path, 0600, text, strlen(text), &err) < 0)
        log_warning("image", "the verified image is not remembered: %s", err.text);
}
