/*
 * Named, typed, bounded members of structs, as rows of a table: how each stands in JSON and in text. Journal,
 * settings, recordings, actions and picture requests are read and written by their tables alone. Pure; what
 * is refused leaves the struct as it was.
 */
#ifndef BERTHOS_BASE_MEMBER_H
#define BERTHOS_BASE_MEMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum member_kind {
    MEMBER_INTEGER, /* a whole number, min..max, of 32 or 64 bits */
    MEMBER_BOOLEAN, /* bool */
    MEMBER_WORD,    /* an enum: one of `words`, the first of which stands for the value `min` */
    MEMBER_TEXT,    /* char[size]: a text of at least min bytes */
    MEMBER_STRING,  /* char *, *owned* by the struct, or NULL */
    MEMBER_OWN,     /* from here on: a table's own, which its part reads and writes itself */
};

struct member {
    const char *name;
    int kind;            /* enum member_kind, or a table's own */
    size_t offset, size; /* in the struct, bytes: MEMBER_AT() */
    bool optional;       /* it may be missing */
    int64_t min, max;
    const char *const *words;         /* ended by NULL */
    bool (*check)(const char *value); /* of a text or string: whether it will do; NULL takes any */
    const char *allowed;              /* in words what will do, where kind and bounds do not say it */
    const char *fallback;             /* what holds without it, for people; NULL where nothing does */
    const char *help;
};

#define MEMBER_AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)

/* The row of a name, or NULL. */
const struct member *member_find(const struct member *members, size_t count, const char *name);

/* What a member takes: "a whole number from 1 to 64", "one of left, middle", "true or false". *Owned*. */
char *member_allowed(const struct member *member);

/* Sets the member from JSON. False for a value that is not what it takes, and for kinds that are a table's
 * own. */
bool member_decode(const struct member *member, const json_t *value, void *object);

/* The same from a text as it stands in a query: "12", "true", "png". */
bool member_parse(const struct member *member, const char *text, void *object);

/* The member as JSON; null for a string that is not set and a value that has no word. A new reference. */
json_t *member_encode(const struct member *member, const void *object);

/* "the field "x" must be ...", ERROR_BAD_REQUEST. Returns -1. */
int member_refuse(const struct member *member, struct error *err);

/* A number or an enum. */
int64_t member_integer(const struct member *member, const void *object);
void member_set_integer(const struct member *member, int64_t value, void *object);

/* All members of a table, none of which is of its own kind; what the document has beside them does not
 * matter. */
int member_decode_all(const struct member *members, size_t count, const json_t *document, void *object,
                      struct error *err);
void member_encode_all(const struct member *members, size_t count, const void *object, json_t *document);

#endif
