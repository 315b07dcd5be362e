#include "display/picture_budget.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"

struct picture_budget {
    atomic_int references;
    atomic_size_t bytes;
    size_t max;
    struct picture_budget *all;
};

struct picture_budget *picture_budget_new(size_t max, struct picture_budget *all)
{
    struct picture_budget *budget = memory_new(sizeof *budget);
    atomic_init(&budget->references, 1);
    budget->max = max;
    budget->all = picture_budget_share(all);
    return budget;
}

struct picture_budget *picture_budget_share(struct picture_budget *budget)
{
    if (budget)
        atomic_fetch_add(&budget->references, 1);
    return budget;
}

void picture_budget_release(struct picture_budget *budget)
{
    while (budget && atomic_fetch_sub(&budget->references, 1) == 1) {
        struct picture_budget *all = budget->all;
        free(budget);
        budget = all;
    }
}

bool picture_budget_full(const struct picture_budget *budget)
{
    for (; budget; budget = budget->all)
        if (atomic_load(&budget->bytes) >= budget->max)
            return true;
    return false;
}

void picture_budget_add(struct picture_budget *budget, size_t size)
{
    for (; budget; budget = budget->all)
        atomic_fetch_add(&budget->bytes, size);
}

void picture_budget_take(struct picture_budget *budget, size_t size)
{
    for (; budget; budget = budget->all)
        atomic_fetch_sub(&budget->bytes, size);
}
