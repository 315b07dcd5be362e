/*
 * Memory of our own bookkeeping, which is there or the program ends: a node that cannot get some bytes for a
 * struct can keep no promise either.
 */
#ifndef BERTHOS_BASE_MEMORY_H
#define BERTHOS_BASE_MEMORY_H

#include <stddef.h>

/* Zeroed memory for `count` things of `size` bytes. Never NULL, also for none. *Owned*: free(). */
void *memory_array(size_t count, size_t size);

/* The same for one. */
void *memory_new(size_t size);

/* Memory made larger or smaller, as realloc() does; what is new in it is not zeroed. Never NULL. */
void *memory_resize(void *memory, size_t count, size_t size);

#endif
