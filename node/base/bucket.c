#include "base/bucket.h"

#include "base/clock.h"

struct bucket bucket_full(int64_t room, int64_t period_ms)
{
    return (struct bucket){room, period_ms, room, clock_monotonic_ms()};
}

bool bucket_holds(struct bucket *bucket)
{
    int64_t earned = (clock_monotonic_ms() - bucket->filled_ms) / bucket->period_ms;
    bucket->filled_ms += earned * bucket->period_ms;
    bucket->left = earned < bucket->room - bucket->left ? bucket->left + earned : bucket->room;
    return bucket->left > 0;
}

bool bucket_take(struct bucket *bucket)
{
    return bucket_holds(bucket) && bucket->left-- > 0;
}
