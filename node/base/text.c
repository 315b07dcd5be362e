#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *text_format_args(const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0)
        abort();
    return text;
}

char *text_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_format_args(format, args);
    va_end(args);
    return text;
}

char *text_version(unsigned long version)
{
    return text_format("%lu.%lu.%lu", version / 1000000, version / 1000 % 1000, version % 1000);
}

bool text_add(struct text_buffer *buffer, const void *data, size_t size)
{
    if (size >= buffer->room - buffer->size) {
        size_t room = 2 * (buffer->size + size + 1);
        char *larger = realloc(buffer->text, room);
        if (!larger)
            return false;
        buffer->text = larger;
        buffer->room = room;
    }
    if (size > 0)
        memcpy(buffer->text + buffer->size, data, size);
    buffer->size += size;
    buffer->text[buffer->size] = '\0';
    return true;
}

__attribute__((format(printf, 2, 0))) static void append_format(struct text_buffer *buffer,
                                                                const char *format, va_list args)
{
    CLEANUP_FREE char *more = text_format_args(format, args);
    if (!text_add(buffer, more, strlen(more)))
        abort();
}

void text_append(struct text_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append_format(buffer, format, args);
    va_end(args);
}

void text_join(struct text_buffer *list, const char *separator, const char *format, ...)
{
    va_list args;
    if (list->size > 0)
        text_append(list, "%s", separator);
    va_start(args, format);
    append_format(list, format, args);
    va_end(args);
}

char *text_list(const char *const *words)
{
    struct text_buffer list = {0};
    text_append(&list, "%s", "");
    for (; *words; words++)
        text_join(&list, ", ", "%s", *words);
    return list.text;
}

char *text_copy(const char *text)
{
    if (!text)
        return NULL;
    char *copy = strdup(text);
    if (!copy)
        abort();
    return copy;
}

void text_hex(const void *data, size_t size, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
}

bool text_is_hex(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

bool text_to_integer(const char *text, int64_t min, int64_t max, int64_t *value)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    if (!digits[0] || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    if (errno || number < min || number > max)
        return false;
    *value = number;
    return true;
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

size_t text_decode(const char *text, size_t size, uint32_t *code_point)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (bytes[0] < 0x80) {
        *code_point = bytes[0];
        return 1;
    }
    size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || size < length)
        return 0;
    uint32_t value = bytes[0] & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    static const uint32_t smallest[] = {[2] = 0x80, [3] = 0x800, [4] = 0x10000};
    if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code_point = value;
    return length;
}

bool text_is_plain(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } unfit[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},
                 {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    for (size_t i = 0; i < sizeof unfit / sizeof *unfit; i++)
        if (code_point >= unfit[i].first && code_point <= unfit[i].last)
            return false;
    return true;
}

char *text_fit(const char *text, size_t max)
{
    static const char cut[] = "\u2026";
    struct text_buffer fit = {0};
    size_t keep = 0; /* as much of it as leaves room for the ellipsis */
    text_append(&fit, "%s", "");
    for (size_t left = strlen(text); left > 0 && fit.size <= max;) {
        uint32_t code_point;
        size_t length = text_decode(text, left, &code_point);
        bool plain = length > 0 && text_is_plain(code_point) && code_point != '\\';
        size_t taken = plain ? length : 1;
        keep = fit.size + strlen(cut) <= max ? fit.size : keep;
        if (plain)
            text_add(&fit, text, length);
        else
            text_append(&fit, "\\x%02x", (unsigned char)*text);
        text += taken;
        left -= taken;
    }
    if (fit.size > max) {
        fit.size = keep;
        text_append(&fit, "%s", cut);
    }
    return fit.text;
}
