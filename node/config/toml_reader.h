/*
 * TOML 1.0 through toml++, behind one function: exceptions and C++ types stay inside toml_reader.cpp.
 *
 * A table is an entry with entries of its own, down to TOML_DEPTH levels; what lies deeper, and an array, is
 * reported as an entry of its type without its content; the caller refuses it by name and place.
 */
#ifndef BERTHOS_CONFIG_TOML_READER_H
#define BERTHOS_CONFIG_TOML_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define TOML_DEPTH 3

struct toml_document;

enum toml_type {
    TOML_TYPE_STRING,
    TOML_TYPE_INTEGER,
    TOML_TYPE_BOOLEAN,
    TOML_TYPE_FLOAT,
    TOML_TYPE_TIME, /* a date, a time or both */
    TOML_TYPE_ARRAY,
    TOML_TYPE_TABLE,
};

/* A place in a file; both count from 1, columns in characters. */
struct toml_place {
    unsigned line, column;
};

struct toml_entry {
    char *key;                   /* never NULL, without NUL inside. Owned */
    char *string;                /* of a TOML_TYPE_STRING, without NUL inside; else NULL. Owned */
    struct toml_document *table; /* of a TOML_TYPE_TABLE; else, and when it lies too deep, NULL. Owned */
    int64_t integer;
    bool boolean;
    enum toml_type type;
    struct toml_place key_place, value_place;
};

/* A document, or a table in it, in the order of the text. */
struct toml_document {
    struct toml_entry *entries; /* owned */
    size_t count;
};

/*
 * Parses a text. name: what the error calls it, a path for most. NULL with ERROR_CONFIG
 * "NAME:LINE:COLUMN: what is wrong". The result is *owned*: toml_free().
 */
struct toml_document *toml_parse(const char *text, size_t size, const char *name, struct error *err);

/* "a string", "a table". Static. */
const char *toml_type_word(enum toml_type type);

void toml_free(struct toml_document *document);
CLEANUP_DEFINE(toml, struct toml_document *, toml_free);
#define CLEANUP_TOML CLEANUP(cleanup_toml)

#endif
