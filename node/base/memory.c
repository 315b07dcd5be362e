#include "base/memory.h"

#include <stdlib.h>

void *memory_array(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

void *memory_new(size_t size)
{
    return memory_array(1, size);
}

void *memory_resize(void *memory, size_t count, size_t size)
{
    void *resized = reallocarray(memory, count ? count : 1, size);
    if (!resized)
        abort();
    return resized;
}
