#include "pairing/guesses.h"

#include <stddef.h>

static struct bucket full_bucket(void)
{
    return bucket_full(GUESSES_FREE, GUESSES_REFILL_MS);
}

void guesses_init(struct guesses *guesses)
{
    *guesses = (struct guesses){.others = full_bucket()};
    for (size_t i = 0; i < GUESSERS_MAX; i++)
        guesses->operators[i].tries = guesses->strangers[i].tries = full_bucket();
}

static bool is_full(struct bucket *bucket)
{
    return bucket_holds(bucket) && bucket->left == bucket->room;
}

static struct bucket *find_tries(struct guesses *guesses, const struct peer *peer)
{
    struct guesser *list = peer->kind == PEER_OPERATOR ? guesses->operators : guesses->strangers;
    struct guesser *unused = NULL;
    for (size_t i = 0; i < GUESSERS_MAX; i++) {
        if (is_full(&list[i].tries))
            unused = &list[i];
        else if (peer->known && list[i].uid == peer->uid)
            return &list[i].tries;
    }
    if (!peer->known || !unused)
        return &guesses->others;
    *unused = (struct guesser){peer->uid, full_bucket()};
    return &unused->tries;
}

bool guesses_allow(struct guesses *guesses, const struct peer *peer)
{
    return bucket_holds(find_tries(guesses, peer));
}

void guesses_count(struct guesses *guesses, const struct peer *peer)
{
    bucket_take(find_tries(guesses, peer));
}
