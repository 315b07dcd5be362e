/*
 * JSON documents from outside, read with bounds (jansson). A reader takes an object, a key and where to put
 * the value; a value of another type or out of its bounds is ERROR_BAD_REQUEST with the key and what is
 * allowed.
 */
#ifndef BERTHOS_BASE_DOCUMENT_H
#define BERTHOS_BASE_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

CLEANUP_DEFINE(json, json_t *, json_decref);
#define CLEANUP_JSON CLEANUP(cleanup_json)

/*
 * How many values a text in JSON holds at most, without building one: a value takes up to 250 bytes of
 * memory, and two of text.
 */
size_t document_values(const char *text, size_t size);

/*
 * Parses a text. Duplicate keys are refused. Returns a new reference, or NULL with ERROR_BAD_REQUEST that
 * names line and column.
 */
json_t *document_parse(const char *text, size_t size, struct error *err);

/* Reads and parses a file of at most max_bytes; errors of file_read(), or ERROR_BAD_REQUEST with the path. */
json_t *document_read(const char *path, size_t max_bytes, struct error *err);

/* The text of a document, one line without a newline at its end; keys stay in order. Never NULL. *Owned*. */
char *document_text(const json_t *document);

/* The same for people: indented by two, with a newline at the end. */
char *document_pretty(const json_t *document);

/* Refuses a value that is no object, and an object with a key outside the NULL-terminated list. */
int document_keys(const json_t *object, const char *const allowed[], struct error *err);

/* Needed values. A string is borrowed from the document. */
int document_string(const json_t *object, const char *key, const char **value, struct error *err);
int document_integer(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *value,
                     struct error *err);
int document_bool(const json_t *object, const char *key, bool *value, struct error *err);

/* Values that may be missing: then *value stays as it is. null is not missing. */
int document_maybe_string(const json_t *object, const char *key, const char **value, struct error *err);
int document_maybe_integer(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *value,
                           struct error *err);
int document_maybe_bool(const json_t *object, const char *key, bool *value, struct error *err);

#endif
