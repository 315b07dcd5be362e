#include "web/shares.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/sync.h"

enum { NAME_SIZE = 72 };

/* Who has one at least. */
struct holder {
    char name[NAME_SIZE];
    unsigned count;
    struct holder *next;
};

struct shares {
    pthread_mutex_t mutex; /* guards all below */
    struct holder *holders;
    unsigned taken;
};

struct shares *shares_new(void)
{
    struct shares *shares = memory_new(sizeof *shares);
    pthread_mutex_init(&shares->mutex, NULL);
    return shares;
}

void shares_free(struct shares *shares)
{
    while (shares->holders) {
        struct holder *holder = shares->holders;
        shares->holders = holder->next;
        free(holder);
    }
    pthread_mutex_destroy(&shares->mutex);
    free(shares);
}

/* With the mutex held. The link to a holder, or to the end of the list. */
static struct holder **find_holder(struct shares *shares, const char *name)
{
    struct holder **link = &shares->holders;
    while (*link && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    return link;
}

bool shares_take(struct shares *shares, const char *name, unsigned most)
{
    LOCK_SCOPE(&shares->mutex);
    struct holder **link = find_holder(shares, name);
    if ((*link ? (*link)->count : 0) >= most || (!*link && !(*link = calloc(1, sizeof **link))))
        return false;
    struct holder *holder = *link;
    snprintf(holder->name, sizeof holder->name, "%s", name);
    holder->count++;
    shares->taken++;
    return true;
}

void shares_give(struct shares *shares, const char *name)
{
    LOCK_SCOPE(&shares->mutex);
    struct holder **link = find_holder(shares, name);
    struct holder *holder = *link;
    if (!holder)
        return;
    shares->taken--;
    if (--holder->count > 0)
        return;
    *link = holder->next;
    free(holder);
}

unsigned shares_taken(struct shares *shares)
{
    LOCK_SCOPE(&shares->mutex);
    return shares->taken;
}
