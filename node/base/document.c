#include "base/document.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

size_t document_values(const char *text, size_t size)
{
    size_t values = 1;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (quoted)
            i += text[i] == '\\';
        else
            values += strchr(",:[{", text[i]) && text[i];
    }
    return values;
}

json_t *document_parse(const char *text, size_t size, struct error *err)
{
    json_error_t reason;
    json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &reason);
    if (!document)
        error_set(err, ERROR_BAD_REQUEST, "this is not valid JSON (line %d, column %d: %s)", reason.line,
                  reason.column, reason.text);
    return document;
}

json_t *document_read(const char *path, size_t max_bytes, struct error *err)
{
    CLEANUP_FREE char *text = NULL;
    size_t size;
    if (file_read(path, max_bytes, &text, &size, err) < 0)
        return NULL;
    json_t *document = document_parse(text, size, err);
    if (!document)
        error_prefix(err, "%s", path);
    return document;
}

char *document_text(const json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text)
        abort();
    return text;
}

char *document_pretty(const json_t *document)
{
    CLEANUP_FREE char *text = json_dumps(document, JSON_INDENT(2) | JSON_ENCODE_ANY);
    if (!text)
        abort();
    return text_format("%s\n", text);
}

int document_keys(const json_t *object, const char *const allowed[], struct error *err)
{
    if (!json_is_object(object))
        return error_set(err, ERROR_BAD_REQUEST, "a JSON object is expected here");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        bool known = false;
        for (size_t i = 0; allowed[i] && !known; i++)
            known = strcmp(key, allowed[i]) == 0;
        if (!known) {
            CLEANUP_FREE char *list = text_list(allowed);
            return error_set(err, ERROR_BAD_REQUEST, "the field \"%.64s\" is not known here; known are: %s",
                             key, list);
        }
    }
    return 0;
}

static int refuse_missing(const char *key, struct error *err)
{
    return error_set(err, ERROR_BAD_REQUEST, "the field \"%s\" is missing", key);
}

int document_maybe_string(const json_t *object, const char *key, const char **value, struct error *err)
{
    const json_t *found = json_object_get(object, key);
    if (!found)
        return 0;
    /* A NUL inside would end the text early for every C function after this one. */
    if (!json_is_string(found) || strlen(json_string_value(found)) != json_string_length(found))
        return error_set(err, ERROR_BAD_REQUEST, "the field \"%s\" must be a string without NUL", key);
    *value = json_string_value(found);
    return 0;
}

int document_maybe_integer(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *value,
                           struct error *err)
{
    const json_t *found = json_object_get(object, key);
    if (!found)
        return 0;
    if (!json_is_integer(found) || json_integer_value(found) < min || json_integer_value(found) > max)
        return error_set(err, ERROR_BAD_REQUEST,
                         "the field \"%s\" must be a whole number from %" PRId64 " to %" PRId64, key, min,
                         max);
    *value = json_integer_value(found);
    return 0;
}

int document_maybe_bool(const json_t *object, const char *key, bool *value, struct error *err)
{
    const json_t *found = json_object_get(object, key);
    if (!found)
        return 0;
    if (!json_is_boolean(found))
        return error_set(err, ERROR_BAD_REQUEST, "the field \"%s\" must be true or false", key);
    *value = json_is_true(found);
    return 0;
}

int document_string(const json_t *object, const char *key, const char **value, struct error *err)
{
    return json_object_get(object, key) ? document_maybe_string(object, key, value, err)
                                        : refuse_missing(key, err);
}

int document_integer(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *value,
                     struct error *err)
{
    return json_object_get(object, key) ? document_maybe_integer(object, key, min, max, value, err)
                                        : refuse_missing(key, err);
}

int document_bool(const json_t *object, const char *key, bool *value, struct error *err)
{
    return json_object_get(object, key) ? document_maybe_bool(object, key, value, err)
                                        : refuse_missing(key, err);
}
