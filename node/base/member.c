#include "base/member.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/text.h"

const struct member *member_find(const struct member *members, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

char *member_allowed(const struct member *member)
{
    if (member->allowed)
        return text_copy(member->allowed);
    CLEANUP_FREE char *words = member->words ? text_list(member->words) : NULL;
    switch (member->kind) {
    case MEMBER_INTEGER:
        return text_format("a whole number from %" PRId64 " to %" PRId64, member->min, member->max);
    case MEMBER_BOOLEAN:
        return text_copy("true or false");
    case MEMBER_WORD:
        return text_format("one of %s", words);
    default:
        return text_copy("a string without NUL");
    }
}

int64_t member_integer(const struct member *member, const void *object)
{
    const char *slot = (const char *)object + member->offset;
    int64_t wide;
    int32_t narrow;
    if (member->size == sizeof wide)
        return *(int64_t *)memcpy(&wide, slot, sizeof wide);
    return *(int32_t *)memcpy(&narrow, slot, sizeof narrow);
}

void member_set_integer(const struct member *member, int64_t value, void *object)
{
    char *slot = (char *)object + member->offset;
    if (member->size == sizeof value)
        memcpy(slot, &value, sizeof value);
    else
        memcpy(slot, &(int32_t){(int32_t)value}, sizeof(int32_t));
}

static bool decode_integer(const struct member *member, const json_t *value, void *object)
{
    int64_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < member->min || number > member->max)
        return false;
    member_set_integer(member, number, object);
    return true;
}

static bool decode_word(const struct member *member, const char *word, void *object)
{
    for (int i = 0; member->words[i]; i++) {
        if (strcmp(member->words[i], word) == 0) {
            member_set_integer(member, member->min + i, object);
            return true;
        }
    }
    return false;
}

static bool decode_text(const struct member *member, const char *text, void *object)
{
    char *slot = (char *)object + member->offset;
    size_t length = strlen(text);
    if (length < (size_t)member->min || length >= member->size || (member->check && !member->check(text)))
        return false;
    memcpy(slot, text, length + 1);
    return true;
}

static bool decode_string(const struct member *member, const char *text, void *object)
{
    char **slot = (char **)(void *)((char *)object + member->offset);
    if (member->check && !member->check(text))
        return false;
    free(*slot);
    *slot = text_copy(text);
    return true;
}

bool member_decode(const struct member *member, const json_t *value, void *object)
{
    const char *text = json_string_value(value);
    bool is_text = text && strlen(text) == json_string_length(value);
    switch (member->kind) {
    case MEMBER_INTEGER:
        return decode_integer(member, value, object);
    case MEMBER_BOOLEAN:
        if (json_is_boolean(value))
            *(bool *)((char *)object + member->offset) = json_is_true(value);
        return json_is_boolean(value);
    case MEMBER_WORD:
        return is_text && decode_word(member, text, object);
    case MEMBER_TEXT:
        return is_text && decode_text(member, text, object);
    case MEMBER_STRING:
        return is_text && decode_string(member, text, object);
    default:
        return false;
    }
}

bool member_parse(const struct member *member, const char *text, void *object)
{
    CLEANUP_JSON json_t *value = NULL;
    int64_t number;
    if (member->kind == MEMBER_INTEGER && text_to_integer(text, member->min, member->max, &number))
        value = json_integer(number);
    else if (member->kind == MEMBER_BOOLEAN && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        value = json_boolean(text[0] == 't');
    else
        value = json_string(text);
    return member_decode(member, value, object);
}

static json_t *encode_word(const struct member *member, int64_t value)
{
    for (int i = 0; member->words[i]; i++)
        if (member->min + i == value)
            return json_string(member->words[i]);
    return json_null();
}

/* What comes from other programs may be broken UTF-8, which JSON cannot hold. */
static json_t *encode_text(const char *text)
{
    json_t *value = text ? json_string(text) : json_null();
    return value ? value : json_string("(not UTF-8)");
}

json_t *member_encode(const struct member *member, const void *object)
{
    const char *slot = (const char *)object + member->offset;
    switch (member->kind) {
    case MEMBER_INTEGER:
        return json_integer(member_integer(member, object));
    case MEMBER_BOOLEAN:
        return json_boolean(*(const bool *)slot);
    case MEMBER_WORD:
        return encode_word(member, member_integer(member, object));
    case MEMBER_TEXT:
        return encode_text(slot);
    case MEMBER_STRING:
        return encode_text(*(char *const *)(const void *)slot);
    default:
        abort();
    }
}

int member_refuse(const struct member *member, struct error *err)
{
    CLEANUP_FREE char *allowed = member_allowed(member);
    return error_set(err, ERROR_BAD_REQUEST, "the field \"%s\" must be %s", member->name, allowed);
}

int member_decode_all(const struct member *members, size_t count, const json_t *document, void *object,
                      struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(document, members[i].name);
        if (!value && !members[i].optional)
            return error_set(err, ERROR_BAD_REQUEST, "the field \"%s\" is missing", members[i].name);
        if (value && !member_decode(&members[i], value, object))
            return member_refuse(&members[i], err);
    }
    return 0;
}

void member_encode_all(const struct member *members, size_t count, const void *object, json_t *document)
{
    for (size_t i = 0; i < count; i++)
        json_object_set_new(document, members[i].name, member_encode(&members[i], object));
}
