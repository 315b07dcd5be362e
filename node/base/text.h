/* Small helpers for strings: formatted allocation, growing texts and lists, hex, bounded number parsing,
 * UTF-8. */
#ifndef BERTHOS_BASE_TEXT_H
#define BERTHOS_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* A new string made as printf does. Never NULL: the process ends when memory for a short text is gone.
 * *Owned*. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same as vprintf does. */
char *text_format_args(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* "9.1.2" from 9001002: how libvirt counts versions. Never NULL. *Owned*. */
char *text_version(unsigned long version);

/* A new copy of a string; never NULL. NULL gives NULL. *Owned*. */
char *text_copy(const char *text);

/* A text that grows. Starts as {0}; `text` is terminated, *owned*, and NULL until something was added. */
struct text_buffer {
    char *text;
    size_t size, room; /* bytes without the terminator; that are allocated */
};
#define CLEANUP_TEXT CLEANUP(cleanup_text_buffer)
static inline void cleanup_text_buffer(struct text_buffer *buffer)
{
    free(buffer->text);
}

/* Adds bytes as they are, none as well. False when memory for them is gone: then nothing was added. */
bool text_add(struct text_buffer *buffer, const void *data, size_t size);

/* Adds what printf makes. Memory as for text_format(). */
void text_append(struct text_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for the next item of a list: the separator comes before it unless it is the first. */
void text_join(struct text_buffer *list, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "a, b, c" from words ended by NULL. Never NULL. *Owned*. */
char *text_list(const char *const *words);

/* Writes 2 * size lower-case hex digits, without a terminator. */
void text_hex(const void *data, size_t size, char *hex);

/* Whether the text consists of exactly `length` characters of lower-case hex. */
bool text_is_hex(const char *text, size_t length);

/* Reads a whole decimal number in min..max; no sign but '-', no spaces, no rest. False when it is anything
 * else. */
bool text_to_integer(const char *text, int64_t min, int64_t max, int64_t *value);

/* Whether `text` begins with `prefix`. */
bool text_starts(const char *text, const char *prefix);

/*
 * Decodes one code point of UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF).
 * Returns its length in bytes, or 0 when the bytes at `text` are not one.
 */
size_t text_decode(const char *text, size_t size, uint32_t *code_point);

/*
 * Whether a code point may be shown where it stands: no control (C0, DEL, C1 of ECMA-48), no line or
 * paragraph separator, and none of those that turn the direction of what follows (Unicode UAX #9:
 * Bidi_Control).
 */
bool text_is_plain(uint32_t code_point);

/*
 * Makes a text from outside fit to be kept and shown: valid UTF-8 of plain characters, at most `max` bytes.
 * Each byte of anything else stands as \xNN, a backslash too; where it was cut there is an ellipsis.
 * Never NULL. *Owned*.
 */
char *text_fit(const char *text, size_t max);

#endif
