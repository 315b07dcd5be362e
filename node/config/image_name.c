#include "config/image_name.h"

#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789."

enum { NAME_MAX = 64, VERSION_MAX = 32 };

bool image_name_stem(const char *name, char stem[IMAGE_STEM_SIZE])
{
    size_t head = strspn(name, LETTERS "-");
    if (head == 0 || head > NAME_MAX || name[0] == '.' || name[0] == '-' || name[head] != ':')
        return false;
    const char *version = name + head + 1;
    size_t tail = strspn(version, LETTERS);
    if (tail == 0 || tail > VERSION_MAX || version[tail] != '\0')
        return false;
    snprintf(stem, IMAGE_STEM_SIZE, "%.*s-%s", (int)head, name, version);
    return true;
}

bool image_name_valid(const char *name)
{
    char stem[IMAGE_STEM_SIZE];
    return image_name_stem(name, stem);
}
