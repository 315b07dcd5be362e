#include "pairing/pairings_file.h"

#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/memory.h"

enum { FILE_MAX = 4 << 20 };

static int decode_entry(const json_t *object, struct pairing_entry *entry, struct error *err)
{
    const char *hash, *created;
    entry->used = true;
    if (document_string(object, "sha256", &hash, err) < 0 ||
        document_string(object, "created_at", &created, err) < 0 ||
        document_maybe_bool(object, "used", &entry->used, err) < 0 ||
        document_maybe_integer(object, "leases", 0, INT64_MAX, &entry->grant.leases_max, err) < 0 ||
        document_maybe_integer(object, "max_seconds", 0, INT64_MAX, &entry->grant.max_seconds, err) < 0)
        return -1;
    if (!digest_valid(hash) || !clock_parse(created, &entry->created_ms))
        return error_set(err, ERROR_BAD_REQUEST, "a pairing has no valid digest or time");
    memcpy(entry->grant.id, hash, sizeof entry->grant.id);
    size_t index;
    json_t *word;
    json_array_foreach(json_object_get(object, "capabilities"), index, word)
    {
        if (json_is_string(word))
            entry->grant.capabilities |= pairing_capability_from(json_string_value(word));
    }
    return 0;
}

int pairings_load(const char *path, struct pairing_entry **entries, size_t *count, struct error *err)
{
    struct error reason = ERROR_INIT;
    *entries = NULL;
    *count = 0;
    CLEANUP_JSON json_t *document = document_read(path, FILE_MAX, &reason);
    if (!document && reason.code == ERROR_NOT_FOUND)
        return 0;
    if (!document) {
        *err = reason;
        return -1;
    }
    json_t *list = json_object_get(document, "pairings");
    size_t size = json_array_size(list);
    if (!json_is_array(list) || size > PAIRINGS_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "%s has no list \"pairings\" of at most %d", path,
                         PAIRINGS_MAX);
    *entries = memory_array(size, sizeof **entries);
    for (size_t i = 0; i < size; i++)
        if (decode_entry(json_array_get(list, i), &(*entries)[i], err) < 0)
            return error_prefix(err, "%s", path);
    *count = size;
    return 0;
}

static json_t *encode_entry(const struct pairing_entry *entry)
{
    char created[CLOCK_TEXT_SIZE];
    clock_format(entry->created_ms, created);
    json_t *object = json_pack("{s:s, s:o, s:s, s:b}", "sha256", entry->grant.id, "capabilities",
                               pairing_capabilities(entry->grant.capabilities), "created_at", created, "used",
                               entry->used);
    if (entry->grant.leases_max)
        json_object_set_new(object, "leases", json_integer(entry->grant.leases_max));
    if (entry->grant.max_seconds)
        json_object_set_new(object, "max_seconds", json_integer(entry->grant.max_seconds));
    return object;
}

int pairings_save(const char *path, const struct pairing_entry *entries, size_t count, struct error *err)
{
    CLEANUP_JSON json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, encode_entry(&entries[i]));
    CLEANUP_JSON json_t *document = json_pack("{s:s, s:O}", "schema", "berthos.pairings/1", "pairings", list);
    CLEANUP_FREE char *text = document_pretty(document);
    return file_write_atomic(path, 0600, text, strlen(text), err);
}
