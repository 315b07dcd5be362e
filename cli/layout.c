#include "layout.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

char *layout_clean(const char *text)
{
    size_t left = strlen(text);
    char *clean = text_copy(text);
    char *out = clean;
    while (left) {
        uint32_t code_point;
        size_t length = text_decode(text, left, &code_point);
        if (length == 0 || !text_is_plain(code_point)) {
            *out++ = '?';
            length = length ? length : 1;
        } else {
            memcpy(out, text, length);
            out += length;
        }
        text += length;
        left -= length;
    }
    *out = '\0';
    return clean;
}

static size_t count_columns(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

char *layout_wrap(const char *text, size_t indent, size_t width)
{
    struct text_buffer out = {0};
    text_append(&out, "%s", "");
    size_t column = indent;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        size_t taken = count_columns(word, length);
        size_t space = word > text;
        if (space && width && column + space + taken > width) {
            text_append(&out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (space) {
            text_append(&out, " ");
            column++;
        }
        text_append(&out, "%.*s", (int)length, word);
        column += taken;
        word += length;
        word += *word == ' ';
    }
    return out.text;
}

char *layout_duration(int64_t seconds)
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    enum { LAST = sizeof units / sizeof units[0] - 1 };
    if (seconds < 0)
        seconds = 0;
    for (size_t i = 0; i < LAST; i++) {
        int64_t whole = seconds / units[i].seconds;
        int64_t rest = seconds % units[i].seconds / units[i + 1].seconds;
        if (whole && rest)
            return text_format("%" PRId64 " %s %" PRId64 " %s", whole, units[i].unit, rest,
                               units[i + 1].unit);
        if (whole)
            return text_format("%" PRId64 " %s", whole, units[i].unit);
    }
    return text_format("%" PRId64 " s", seconds);
}

char *layout_size(uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    return text_format(unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
