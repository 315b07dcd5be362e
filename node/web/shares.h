/*
 * How many of a thing each of those who use it has: connections by uid, requests by token. Each has a bound
 * of its own, so that one who takes more than his part takes it from nobody.
 */
#ifndef BERTHOS_WEB_SHARES_H
#define BERTHOS_WEB_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct shares; /* opaque */

/* *Owned*: shares_free(). */
struct shares *shares_new(void);
void shares_free(struct shares *shares);

/* Takes one for whom `name` names, who may have `most`. False when he has so many. Each that was taken is
 * given back once. */
bool shares_take(struct shares *shares, const char *name, unsigned most);
void shares_give(struct shares *shares, const char *name);

/* How many all together have. */
unsigned shares_taken(struct shares *shares);

#endif
