/* A bucket of tokens: so many at once, and one more every period. Its owner's lock guards it. */
#ifndef BERTHOS_BASE_BUCKET_H
#define BERTHOS_BASE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
    int64_t room, period_ms;
    int64_t left;      /* tokens */
    int64_t filled_ms; /* monotonic: when it was counted last */
};

/* A full one. */
struct bucket bucket_full(int64_t room, int64_t period_ms);

/* Whether it holds a token now. */
bool bucket_holds(struct bucket *bucket);

/* Takes one, where it holds one; false where it does not. */
bool bucket_take(struct bucket *bucket);

#endif
