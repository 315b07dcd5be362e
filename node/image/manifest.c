#include "image/manifest.h"

#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "config/image_name.h"
#include "protocol/labels.h"

enum { LABELS_MAX = 32, LABEL_MAX = 256, CMDLINE_MAX = 2000, NAME_MAX_BYTES = 128 };

/* No part of an image is larger; it bounds the time of a hash and every sum of sizes. */
static const int64_t SIZE_MAX_BYTES = INT64_C(1) << 40;

static const char *const part_keys[IMAGE_FILE_COUNT] = {"disk", "kernel", "initrd"};

/* Printable ASCII only: these words reach domain XML, a kernel and a terminal. */
static bool is_printable(const char *text, size_t max)
{
    size_t length = strlen(text);
    if (length > max)
        return false;
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return true;
}

static bool plain_name(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= NAME_MAX_BYTES && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

static int decode_part(const json_t *files, enum image_file which, const char *folder, struct image *image,
                       struct error *err)
{
    static const char *const keys[] = {"file", "sha256", "size", NULL};
    const json_t *object = json_object_get(files, part_keys[which]);
    struct image_part *part = &image->parts[which];
    const char *name, *sha256;
    int64_t size;
    if (document_keys(object, keys, err) < 0 || document_string(object, "file", &name, err) < 0 ||
        document_string(object, "sha256", &sha256, err) < 0 ||
        document_integer(object, "size", 1, SIZE_MAX_BYTES, &size, err) < 0)
        return error_prefix(err, "files.%s", part_keys[which]);
    if (!plain_name(name))
        return error_set(err, ERROR_IMAGE,
                         "files.%s.file must be a plain file name of letters, digits, '.', '_' and '-'",
                         part_keys[which]);
    if (!digest_valid(sha256))
        return error_set(err, ERROR_IMAGE, "files.%s.sha256 must be 64 lower-case hex digits",
                         part_keys[which]);
    part->path = file_join(folder, name);
    memcpy(part->sha256, sha256, DIGEST_HEX_SIZE);
    part->size_bytes = (uint64_t)size;
    return 0;
}

static int decode_labels(const json_t *document, struct image *image, struct error *err)
{
    json_t *labels = json_object_get(document, "labels");
    const char *key;
    json_t *value;
    if (!json_is_object(labels) || json_object_size(labels) > LABELS_MAX)
        return error_set(err, ERROR_IMAGE, "\"labels\" must be an object of at most %d labels", LABELS_MAX);
    json_object_foreach(labels, key, value)
    {
        if (!plain_name(key) || !json_is_string(value) ||
            json_string_length(value) != strlen(json_string_value(value)) ||
            !is_printable(json_string_value(value), LABEL_MAX))
            return error_set(
                err, ERROR_IMAGE,
                "each label must be a plain name with a value of at most %d printable characters", LABEL_MAX);
    }
    image->labels = json_incref(labels);
    return 0;
}

static int decode_display(const json_t *document, struct image *image, struct error *err)
{
    static const char *const keys[] = {"width", "height", NULL};
    const json_t *display = json_object_get(document, "display");
    int64_t width, height;
    if (document_keys(display, keys, err) < 0 ||
        document_integer(display, "width", 320, 8192, &width, err) < 0 ||
        document_integer(display, "height", 200, 8192, &height, err) < 0)
        return error_prefix(err, "display");
    image->display_width = (uint32_t)width;
    image->display_height = (uint32_t)height;
    return 0;
}

static int decode_digest(const json_t *document, const char *key, struct error *err)
{
    const char *digest;
    if (document_string(document, key, &digest, err) < 0)
        return -1;
    return digest_valid(digest) ? 0
                                : error_set(err, ERROR_IMAGE, "\"%s\" must be 64 lower-case hex digits", key);
}

static int decode_words(const json_t *document, struct image *image, struct error *err)
{
    const char *schema, *name, *cmdline, *created;
    int64_t time_ms;
    if (document_string(document, "schema", &schema, err) < 0 ||
        document_string(document, "name", &name, err) < 0 ||
        document_string(document, "cmdline", &cmdline, err) < 0 ||
        document_string(document, "created", &created, err) < 0 ||
        decode_digest(document, "packages_digest", err) < 0 ||
        decode_digest(document, "recipe_digest", err) < 0)
        return -1;
    if (strcmp(schema, MANIFEST_SCHEMA) != 0)
        return error_set(err, ERROR_IMAGE, "its schema is \"%.32s\", not \"%s\"", schema, MANIFEST_SCHEMA);
    if (!image_name_valid(name))
        return error_set(err, ERROR_IMAGE, "its \"name\" is not of the form name:version");
    if (!is_printable(cmdline, CMDLINE_MAX))
        return error_set(err, ERROR_IMAGE, "its \"cmdline\" must be at most %d printable characters",
                         CMDLINE_MAX);
    if (!clock_parse(created, &time_ms))
        return error_set(err, ERROR_IMAGE, "its \"created\" must be a time like 2026-01-31T23:59:59.123Z");
    image->name = text_copy(name);
    image->cmdline = text_copy(cmdline);
    image->created = text_copy(created);
    return 0;
}

int manifest_decode(const char *text, size_t size, const char *folder, struct image *image, struct error *err)
{
    static const char *const keys[] = {
        "schema",  "name",      "labels",          "files",         "virtual_size", "cmdline", "display",
        "created", "test_only", "packages_digest", "recipe_digest", "input_helper", NULL};
    static const char *const files_keys[] = {"disk", "kernel", "initrd", NULL};
    struct error reason = ERROR_INIT;
    CLEANUP_JSON json_t *document = NULL;
    int64_t virtual_size = 0;
    const json_t *files = NULL;
    bool good = size <= MANIFEST_MAX_BYTES && (document = document_parse(text, size, &reason)) &&
                document_keys(document, keys, &reason) == 0 && decode_words(document, image, &reason) == 0 &&
                decode_labels(document, image, &reason) == 0 &&
                decode_display(document, image, &reason) == 0 &&
                document_integer(document, "virtual_size", 1, SIZE_MAX_BYTES, &virtual_size, &reason) == 0 &&
                document_bool(document, "test_only", &image->test_only, &reason) == 0 &&
                document_maybe_bool(document, "input_helper", &image->input_helper, &reason) == 0 &&
                document_keys(files = json_object_get(document, "files"), files_keys, &reason) == 0;
    for (int i = 0; good && i < IMAGE_FILE_COUNT; i++)
        good = decode_part(files, (enum image_file)i, folder, image, &reason) == 0;
    if (!good)
        return error_set(err, ERROR_IMAGE, "%s", reason.text[0] ? reason.text : "it is too large");
    image->virtual_size_bytes = (uint64_t)virtual_size;
    image->manifest = TAKE(document);
    return 0;
}

int manifest_check_labels(const json_t *labels, struct error *err)
{
    static const struct {
        const char *key, *value;
    } wanted[] = {{LABEL_VERSION_KEY, LABEL_VERSION},
                  {LABEL_DESKTOP_KEY, LABEL_DESKTOP},
                  {LABEL_EGRESS_KEY, LABEL_EGRESS}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const char *found = json_string_value(json_object_get(labels, wanted[i].key));
        if (!found)
            return error_set(err, ERROR_IMAGE, "the label %s is missing, it must be \"%s\"", wanted[i].key,
                             wanted[i].value);
        if (strcmp(found, wanted[i].value) != 0)
            return error_set(err, ERROR_IMAGE, "the label %s is \"%s\", it must be \"%s\"", wanted[i].key,
                             found, wanted[i].value);
    }
    return 0;
}
