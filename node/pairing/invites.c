#include "pairing/invites.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"

void invites_expire(struct invites *invites)
{
    for (size_t i = invites->count; i-- > 0;)
        if (clock_left_ms(invites->list[i].deadline_ms) == 0)
            invites_remove(invites, &invites->list[i]);
}

const struct invites_open *invites_add(struct invites *invites, const struct pairing_grant *gives,
                                       const char *maker, int64_t ttl_seconds)
{
    if (invites->count == PAIRING_INVITES_MAX)
        return NULL;
    struct invites_open *open = &invites->list[invites->count++];
    *open = (struct invites_open){
        .invite = {.gives = *gives, .expires_ms = clock_realtime_ms() + ttl_seconds * 1000},
        .code = code_new(),
        .deadline_ms = clock_deadline(ttl_seconds * 1000),
    };
    random_hex(open->invite.id, (PAIRING_INVITE_ID_SIZE - 1) / 2);
    snprintf(open->invite.maker, sizeof open->invite.maker, "%s", maker);
    return open;
}

const struct invites_open *invites_find(const struct invites *invites, const struct code *code)
{
    const struct invites_open *found = NULL;
    for (size_t i = 0; i < invites->count; i++)
        if (code_equal(&invites->list[i].code, code))
            found = &invites->list[i];
    return found;
}

const struct invites_open *invites_named(const struct invites *invites, const char *id)
{
    for (size_t i = 0; i < invites->count; i++)
        if (strcmp(invites->list[i].invite.id, id) == 0)
            return &invites->list[i];
    return NULL;
}

void invites_remove(struct invites *invites, const struct invites_open *open)
{
    size_t index = (size_t)(open - invites->list);
    size_t after = invites->count - index - 1;
    memmove(&invites->list[index], &invites->list[index + 1], after * sizeof *open);
    explicit_bzero(&invites->list[--invites->count], sizeof *open);
}

void invites_remove_made_by(struct invites *invites, const char *maker)
{
    for (size_t i = invites->count; i-- > 0;)
        if (strcmp(invites->list[i].invite.maker, maker) == 0)
            invites_remove(invites, &invites->list[i]);
}
