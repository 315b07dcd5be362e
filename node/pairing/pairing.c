#include "pairing/pairing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "pairing/guesses.h"
#include "pairing/pairings_file.h"

enum { OWED_RETRY_MS = 10000 };

struct pairing {
    char *path;
    pthread_mutex_t mutex; /* guards all below */
    struct pairing_entry *entries;
    size_t count;
    struct code code; /* the node's own */
    struct invites invites;
    struct guesses guesses;
    bool owed;          /* the file does not say yet that a pairing is in use */
    struct bucket owes; /* how often that is tried again */
};

static void set_aside(struct pairing *pairing, const char *why)
{
    CLEANUP_FREE char *aside = text_format("%s.broken-%lld", pairing->path, (long long)clock_realtime_ms());
    if (rename(pairing->path, aside) == 0)
        log_error("pairing", "%s; it was set aside as %s and nobody is paired now", why, aside);
    free(TAKE(pairing->entries));
    pairing->count = 0;
}

struct pairing *pairing_open(const char *home, struct error *err)
{
    struct error reason = ERROR_INIT;
    struct pairing *pairing = memory_new(sizeof *pairing);
    pairing->path = file_join(home, "pairings.json");
    pthread_mutex_init(&pairing->mutex, NULL);
    guesses_init(&pairing->guesses);
    pairing->owes = bucket_full(1, OWED_RETRY_MS);
    if (pairings_load(pairing->path, &pairing->entries, &pairing->count, &reason) < 0) {
        if (reason.code != ERROR_BAD_REQUEST && reason.code != ERROR_TOO_LARGE) {
            *err = reason;
            pairing_close(pairing);
            return NULL;
        }
        set_aside(pairing, reason.text);
    }
    pairing->code = code_new();
    return pairing;
}

void pairing_close(struct pairing *pairing)
{
    pthread_mutex_destroy(&pairing->mutex);
    free(pairing->entries);
    free(pairing->path);
    explicit_bzero(pairing, sizeof *pairing);
    free(pairing);
}

void pairing_code(struct pairing *pairing, char code[PAIRING_CODE_SIZE])
{
    LOCK_SCOPE(&pairing->mutex);
    code_show(&pairing->code, code);
}

/* --- pairings -------------------------------------------------------------------------------------- */

static bool is_forgotten(const struct pairing_entry *entry)
{
    return !entry->used && clock_realtime_ms() - entry->created_ms >= PAIRING_UNUSED_HOURS * INT64_C(3600000);
}

/* With the mutex held. The file follows when it is written next: what is forgotten is so by its time. */
static void forget_unused(struct pairing *pairing)
{
    size_t kept = 0;
    for (size_t i = 0; i < pairing->count; i++)
        if (!is_forgotten(&pairing->entries[i]))
            pairing->entries[kept++] = pairing->entries[i];
    pairing->count = kept;
}

/* With the mutex held. */
static int save_pairings(const struct pairing *pairing, struct error *err)
{
    return pairings_save(pairing->path, pairing->entries, pairing->count, err);
}

/* With the mutex held. */
static int append_entry(struct pairing *pairing, const struct pairing_entry *entry, struct error *err)
{
    forget_unused(pairing);
    if (pairing->count >= PAIRINGS_MAX)
        return error_set(err, ERROR_TOO_MANY,
                         "there are %d pairings, as many as are kept; the node's operator makes room: berth "
                         "pairings lists them, berth unpair ID revokes one",
                         PAIRINGS_MAX);
    pairing->entries = memory_resize(pairing->entries, pairing->count + 1, sizeof *pairing->entries);
    pairing->entries[pairing->count++] = *entry;
    if (save_pairings(pairing, err) == 0)
        return 0;
    pairing->count--;
    return -1;
}

/*
 * With the mutex held. What a code gives, in *gives; *invite is the invite that it is of, NULL where it is
 * the node's own. Counts a wrong one.
 */
static int judge_code(struct pairing *pairing, const struct peer *peer, const char *text,
                      const struct invites_open **invite, struct pairing_grant *gives, struct error *err)
{
    struct code code;
    if (!guesses_allow(&pairing->guesses, peer))
        return error_set(err, ERROR_SLOW_DOWN,
                         "too many wrong pairing codes; wait a minute and read the code again");
    invites_expire(&pairing->invites);
    bool whole = code_read(text, &code);
    bool own = whole && code_equal(&code, &pairing->code);
    *invite = whole ? invites_find(&pairing->invites, &code) : NULL;
    explicit_bzero(&code, sizeof code);
    if (!own && !*invite) {
        guesses_count(&pairing->guesses, peer);
        return error_set(err, ERROR_WRONG_CODE,
                         "this code pairs nobody: it is mistyped, used up or over; ask an operator of the "
                         "node for one (berth invite)");
    }
    *gives = own ? (struct pairing_grant){.capabilities = CAPABILITY_ALL} : (*invite)->invite.gives;
    return 0;
}

int pairing_pair(struct pairing *pairing, const struct peer *peer, const char *code, unsigned capabilities,
                 struct pairing_paired *paired, struct error *err)
{
    LOCK_SCOPE(&pairing->mutex);
    const struct invites_open *invite;
    struct pairing_entry entry = {.created_ms = clock_realtime_ms()};
    struct pairing_paired fresh = {0};
    if (judge_code(pairing, peer, code, &invite, &entry.grant, err) < 0)
        return -1;
    unsigned missing = capabilities & ~entry.grant.capabilities;
    if (missing)
        return error_set(
            err, ERROR_FORBIDDEN,
            "this code does not give the capability \"%s\"; ask for less, or an operator of the "
            "node for another code",
            pairing_capability_word(missing & CAPABILITY_OPERATOR ? CAPABILITY_OPERATOR : CAPABILITY_LEASE));
    if (capabilities)
        entry.grant.capabilities = capabilities;
    random_hex(fresh.token, (PAIRING_TOKEN_SIZE - 1) / 2);
    digest_buffer(fresh.token, PAIRING_TOKEN_SIZE - 1, entry.grant.id);
    if (append_entry(pairing, &entry, err) < 0)
        return -1;
    if (invite) {
        memcpy(fresh.invite, invite->invite.id, sizeof fresh.invite);
        invites_remove(&pairing->invites, invite);
    } else {
        pairing->code = code_new();
    }
    fresh.grant = entry.grant;
    *paired = fresh;
    explicit_bzero(&fresh, sizeof fresh);
    return 0;
}

/* With the mutex held. That a pairing is in use goes to the file, later where the disk is full just now. */
static void note_use(struct pairing *pairing, struct pairing_entry *entry)
{
    struct error err = ERROR_INIT;
    pairing->owed |= !entry->used;
    entry->used = true;
    if (!pairing->owed || !bucket_take(&pairing->owes))
        return;
    pairing->owed = save_pairings(pairing, &err) < 0;
    if (pairing->owed)
        log_warning("pairing", "that the pairing %.8s is in use is not written down yet: %s", entry->grant.id,
                    err.text);
}

bool pairing_check(struct pairing *pairing, const char *token, struct pairing_grant *grant)
{
    char hash[DIGEST_HEX_SIZE];
    if (!text_is_hex(token, PAIRING_TOKEN_SIZE - 1))
        return false;
    digest_buffer(token, PAIRING_TOKEN_SIZE - 1, hash);
    LOCK_SCOPE(&pairing->mutex);
    for (size_t i = 0; i < pairing->count; i++) {
        struct pairing_entry *entry = &pairing->entries[i];
        if (!digest_equal(hash, entry->grant.id, sizeof hash) || is_forgotten(entry))
            continue;
        note_use(pairing, entry);
        *grant = entry->grant;
        return true;
    }
    return false;
}

size_t pairing_list(struct pairing *pairing, struct pairing_entry **entries)
{
    LOCK_SCOPE(&pairing->mutex);
    forget_unused(pairing);
    struct pairing_entry *copy = memory_array(pairing->count, sizeof *copy);
    if (pairing->count > 0)
        memcpy(copy, pairing->entries, pairing->count * sizeof *copy);
    *entries = copy;
    return pairing->count;
}

/* With the mutex held. The index of the one pairing whose id begins so. */
static int find_prefix(const struct pairing *pairing, const char *prefix, size_t *index, struct error *err)
{
    size_t length = strlen(prefix), found = 0;
    if (length < PAIRING_PREFIX_MIN || length >= DIGEST_HEX_SIZE || !text_is_hex(prefix, length))
        return error_set(err, ERROR_BAD_REQUEST,
                         "a pairing is named by the first %d or more of its 64 hex digits; berth pairings "
                         "lists them",
                         PAIRING_PREFIX_MIN);
    for (size_t i = 0; i < pairing->count; i++) {
        if (!text_starts(pairing->entries[i].grant.id, prefix))
            continue;
        *index = i;
        found++;
    }
    if (found > 1)
        return error_set(err, ERROR_BAD_REQUEST, "%zu pairings begin with %s; give more digits", found,
                         prefix);
    return found ? 0 : error_set(err, ERROR_NOT_FOUND, "no pairing begins with %s", prefix);
}

int pairing_revoke(struct pairing *pairing, const char *prefix, struct pairing_grant *revoked,
                   struct error *err)
{
    size_t index = 0; /* gcc does not see that find_prefix() sets it */
    LOCK_SCOPE(&pairing->mutex);
    if (find_prefix(pairing, prefix, &index, err) < 0)
        return -1;
    struct pairing_entry entry = pairing->entries[index];
    size_t after = pairing->count - index - 1;
    memmove(&pairing->entries[index], &pairing->entries[index + 1], after * sizeof entry);
    pairing->count--;
    if (save_pairings(pairing, err) < 0) {
        memmove(&pairing->entries[index + 1], &pairing->entries[index], after * sizeof entry);
        pairing->entries[index] = entry;
        pairing->count++;
        return -1;
    }
    invites_remove_made_by(&pairing->invites, entry.grant.id);
    *revoked = entry.grant;
    return 0;
}

/* --- invites --------------------------------------------------------------------------------------- */

int pairing_invite(struct pairing *pairing, const struct pairing_grant *gives, const char *maker,
                   int64_t ttl_seconds, struct pairing_invite *invite, char code[PAIRING_CODE_SIZE],
                   struct error *err)
{
    if (gives->capabilities & CAPABILITY_OPERATOR && (gives->leases_max || gives->max_seconds))
        return error_set(err, ERROR_BAD_REQUEST,
                         "an operator's pairing has no limits; leave them out, or \"operator\"");
    LOCK_SCOPE(&pairing->mutex);
    invites_expire(&pairing->invites);
    const struct invites_open *open = invites_add(&pairing->invites, gives, maker, ttl_seconds);
    if (!open)
        return error_set(err, ERROR_TOO_MANY,
                         "%d invites are open, as many as there may be; berth invites lists them, berth "
                         "uninvite ID takes one back",
                         PAIRING_INVITES_MAX);
    code_show(&open->code, code);
    *invite = open->invite;
    return 0;
}

size_t pairing_invites(struct pairing *pairing, struct pairing_invite list[PAIRING_INVITES_MAX])
{
    LOCK_SCOPE(&pairing->mutex);
    invites_expire(&pairing->invites);
    for (size_t i = 0; i < pairing->invites.count; i++)
        list[i] = pairing->invites.list[i].invite;
    return pairing->invites.count;
}

int pairing_uninvite(struct pairing *pairing, const char *id, struct error *err)
{
    LOCK_SCOPE(&pairing->mutex);
    invites_expire(&pairing->invites);
    const struct invites_open *open = invites_named(&pairing->invites, id);
    if (!open)
        return error_set(err, ERROR_NOT_FOUND, "no invite %.32s is open; berth invites lists them", id);
    invites_remove(&pairing->invites, open);
    return 0;
}
