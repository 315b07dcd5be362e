/* Small helpers for strings: formatted allocation, hex, bounded number parsing, growing buffers. */
#ifndef BERTHOS_BASE_TEXT_H
#define BERTHOS_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new string made as printf does. Never NULL: the process ends when memory for a short text is gone.
 * *Owned*. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A new copy of a string; never NULL. NULL gives NULL. *Owned*. */
char *text_copy(const char *text);

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

#endif
