/*
 * How much memory finished pictures may take: those of a guest's display, and those of all together. A
 * picture counts once, however many callers it goes to, until the last of them has it. Any thread.
 */
#ifndef BERTHOS_DISPLAY_PICTURE_BUDGET_H
#define BERTHOS_DISPLAY_PICTURE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes for one display, and for all of a node. A noisy screen of 1280x800 is a PNG of 3 MiB. */
#define PICTURE_BUDGET_DISPLAY ((size_t)24 << 20)
#define PICTURE_BUDGET_NODE    ((size_t)96 << 20)

struct picture_budget; /* opaque; counted by references */

/* all: what this is a part of, shared, or NULL. Never NULL. *Owned*: picture_budget_release(). */
struct picture_budget *picture_budget_new(size_t max, struct picture_budget *all);

/* Another reference, and one less; NULL is none. */
struct picture_budget *picture_budget_share(struct picture_budget *budget);
void picture_budget_release(struct picture_budget *budget);

/* Whether it, or what it is a part of, is used up. */
bool picture_budget_full(const struct picture_budget *budget);

/* A picture of so many bytes was made; is gone. */
void picture_budget_add(struct picture_budget *budget, size_t size);
void picture_budget_take(struct picture_budget *budget, size_t size);

#endif
