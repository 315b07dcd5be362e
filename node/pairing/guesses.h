/*
 * Wrong codes, counted for each user of the host: five are free, then one more every twelve seconds. Whoever
 * guesses uses up his own tries alone.
 *
 * The tables are bounded. A user whose tries are full again needs no place; where all places are taken, the
 * next users share one more, as those do whose uid the kernel did not tell. Operators have a table of their
 * own: somebody with 65536 uids (a subuid range) takes no place of theirs. So strangers together have at most
 * GUESSERS_MAX + 1 tries in twelve seconds, whoever they are. The owner's lock guards it.
 */
#ifndef BERTHOS_PAIRING_GUESSES_H
#define BERTHOS_PAIRING_GUESSES_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/bucket.h"
#include "base/peer.h"

#define GUESSES_FREE      5
#define GUESSES_REFILL_MS 12000
#define GUESSERS_MAX      16

struct guesses {
    struct guesser {
        uid_t uid; /* of no meaning while the bucket is full */
        struct bucket tries;
    } operators[GUESSERS_MAX], strangers[GUESSERS_MAX];
    struct bucket others;
};

/* Nobody has guessed yet. */
void guesses_init(struct guesses *guesses);

/* Whether the peer may try a code now. */
bool guesses_allow(struct guesses *guesses, const struct peer *peer);

/* It was a wrong one. */
void guesses_count(struct guesses *guesses, const struct peer *peer);

#endif
