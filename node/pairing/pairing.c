#include "pairing/pairing.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "base/document.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"

enum {
    CODE_SYMBOLS = 8,
    PAIRINGS_MAX = 4096,
    FILE_MAX = 4 << 20,
    TRIES_MAX = 5,
    TRY_REFILL_MS = 12000,
};

static const char alphabet[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"; /* 32 symbols; no I, O, 0, 1 */

struct pairing {
    char *path;
    pthread_mutex_t mutex; /* guards all below */
    struct pairing_entry *entries;
    size_t count;
    char code[CODE_SYMBOLS + 1];
    int wrong; /* tries against this code */
    struct bucket tries;
};

static void new_code(struct pairing *pairing)
{
    for (int i = 0; i < CODE_SYMBOLS; i++)
        pairing->code[i] = alphabet[random_below(sizeof alphabet - 1)];
    pairing->code[CODE_SYMBOLS] = '\0';
    pairing->wrong = 0;
}

/* --- the file -------------------------------------------------------------------------------------- */

static const struct {
    unsigned bit;
    const char *word;
} capability_words[] = {{CAPABILITY_OPERATOR, "operator"}, {CAPABILITY_LEASE, "lease"}};

const char *pairing_capability_word(unsigned bit)
{
    for (size_t i = 0; i < sizeof capability_words / sizeof *capability_words; i++)
        if (capability_words[i].bit == bit)
            return capability_words[i].word;
    return NULL;
}

unsigned pairing_capability_from(const char *word)
{
    for (size_t i = 0; i < sizeof capability_words / sizeof *capability_words; i++)
        if (strcmp(capability_words[i].word, word) == 0)
            return capability_words[i].bit;
    return 0;
}

bool pairing_grant_reaches(const struct pairing_grant *grant, const char *owner)
{
    return grant->capabilities & CAPABILITY_OPERATOR ||
           (grant->capabilities & CAPABILITY_LEASE && strcmp(grant->id, owner) == 0);
}

static int decode_entry(const json_t *object, struct pairing_entry *entry, struct error *err)
{
    const char *hash, *created;
    if (document_string(object, "sha256", &hash, err) < 0 ||
        document_string(object, "created_at", &created, err) < 0)
        return -1;
    if (!digest_valid(hash) || !clock_parse(created, &entry->created_ms))
        return error_set(err, ERROR_BAD_REQUEST, "a pairing has no valid digest or time");
    memcpy(entry->grant.id, hash, sizeof entry->grant.id);
    size_t index;
    json_t *word;
    json_array_foreach(json_object_get(object, "capabilities"), index, word)
    {
        if (json_is_string(word))
            entry->grant.capabilities |= pairing_capability_from(json_string_value(word));
    }
    return 0;
}

static int load_file(struct pairing *pairing, struct error *err)
{
    struct error reason = ERROR_INIT;
    CLEANUP_JSON json_t *document = document_read(pairing->path, FILE_MAX, &reason);
    if (!document && reason.code == ERROR_NOT_FOUND)
        return 0;
    if (!document) {
        *err = reason;
        return -1;
    }
    json_t *list = json_object_get(document, "pairings");
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > PAIRINGS_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "%s has no list \"pairings\"", pairing->path);
    pairing->entries = calloc(count + 1, sizeof *pairing->entries);
    for (size_t i = 0; pairing->entries && i < count; i++) {
        if (decode_entry(json_array_get(list, i), &pairing->entries[i], err) < 0)
            return error_prefix(err, "%s", pairing->path);
        pairing->count++;
    }
    return 0;
}

static int save_file(const struct pairing *pairing, struct error *err)
{
    CLEANUP_JSON json_t *list = json_array();
    for (size_t i = 0; i < pairing->count; i++) {
        const struct pairing_entry *entry = &pairing->entries[i];
        char created[CLOCK_TEXT_SIZE];
        json_t *words = json_array();
        for (size_t w = 0; w < sizeof capability_words / sizeof *capability_words; w++)
            if (entry->grant.capabilities & capability_words[w].bit)
                json_array_append_new(words, json_string(capability_words[w].word));
        clock_format(entry->created_ms, created);
        json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "sha256", entry->grant.id, "capabilities",
                                              words, "created_at", created));
    }
    CLEANUP_JSON json_t *document = json_pack("{s:s, s:O}", "schema", "berthos.pairings/1", "pairings", list);
    CLEANUP_FREE char *text = document_pretty(document);
    return file_write_atomic(pairing->path, 0600, text, strlen(text), err);
}

static void set_aside(struct pairing *pairing, const char *why)
{
    CLEANUP_FREE char *aside = text_format("%s.broken-%lld", pairing->path, (long long)clock_realtime_ms());
    if (rename(pairing->path, aside) == 0)
        log_error("pairing", "%s; it was set aside as %s and nobody is paired now", why, aside);
    free(TAKE(pairing->entries));
    pairing->count = 0;
}

/* --- public ---------------------------------------------------------------------------------------- */

struct pairing *pairing_open(const char *home, struct error *err)
{
    struct error reason = ERROR_INIT;
    struct pairing *pairing = memory_new(sizeof *pairing);
    pairing->path = file_join(home, "pairings.json");
    pthread_mutex_init(&pairing->mutex, NULL);
    pairing->tries = bucket_full(TRIES_MAX, TRY_REFILL_MS);
    if (load_file(pairing, &reason) < 0) {
        if (reason.code != ERROR_BAD_REQUEST && reason.code != ERROR_TOO_LARGE) {
            *err = reason;
            pairing_close(pairing);
            return NULL;
        }
        set_aside(pairing, reason.text);
    }
    new_code(pairing);
    return pairing;
}

void pairing_close(struct pairing *pairing)
{
    pthread_mutex_destroy(&pairing->mutex);
    free(pairing->entries);
    free(pairing->path);
    explicit_bzero(pairing->code, sizeof pairing->code);
    free(pairing);
}

void pairing_code(struct pairing *pairing, char code[PAIRING_CODE_SIZE])
{
    LOCK_SCOPE(&pairing->mutex);
    snprintf(code, PAIRING_CODE_SIZE, "%.4s-%.4s", pairing->code, pairing->code + 4);
}

/* With the mutex held. The symbols of `given`, upper case and without dashes, against the code. */
static bool code_fits(const struct pairing *pairing, const char *given)
{
    char symbols[CODE_SYMBOLS + 1] = "";
    size_t length = 0;
    for (; *given; given++) {
        if (*given == '-')
            continue;
        if (length == CODE_SYMBOLS)
            return false;
        symbols[length++] = (char)toupper((unsigned char)*given);
    }
    return length == CODE_SYMBOLS && digest_equal(symbols, pairing->code, CODE_SYMBOLS);
}

/* With the mutex held. */
static int append_entry(struct pairing *pairing, const struct pairing_entry *entry, struct error *err)
{
    if (pairing->count >= PAIRINGS_MAX)
        return error_set(err, ERROR_INTERNAL, "there are %d pairings already; remove old ones from %s",
                         PAIRINGS_MAX, pairing->path);
    pairing->entries = memory_resize(pairing->entries, pairing->count + 1, sizeof *pairing->entries);
    pairing->entries[pairing->count++] = *entry;
    if (save_file(pairing, err) == 0)
        return 0;
    pairing->count--;
    return -1;
}

int pairing_pair(struct pairing *pairing, const char *code, unsigned capabilities,
                 char token[PAIRING_TOKEN_SIZE], struct error *err)
{
    LOCK_SCOPE(&pairing->mutex);
    if (!bucket_holds(&pairing->tries))
        return error_set(err, ERROR_SLOW_DOWN,
                         "too many wrong pairing codes; wait a minute and read the code again");
    if (!code_fits(pairing, code)) {
        bucket_take(&pairing->tries);
        if (++pairing->wrong >= TRIES_MAX)
            new_code(pairing);
        return error_set(
            err, ERROR_WRONG_CODE,
            "this is not the pairing code; read it where the node runs, or ask GET /v1/pairing there");
    }
    struct pairing_entry entry = {.grant = {.capabilities = capabilities}, .created_ms = clock_realtime_ms()};
    char fresh[PAIRING_TOKEN_SIZE];
    random_hex(fresh, 32);
    digest_buffer(fresh, 64, entry.grant.id);
    if (append_entry(pairing, &entry, err) < 0)
        return -1;
    new_code(pairing);
    memcpy(token, fresh, sizeof fresh);
    return 0;
}

bool pairing_check(struct pairing *pairing, const char *token, struct pairing_grant *grant)
{
    char hash[DIGEST_HEX_SIZE];
    if (!text_is_hex(token, PAIRING_TOKEN_SIZE - 1))
        return false;
    digest_buffer(token, PAIRING_TOKEN_SIZE - 1, hash);
    LOCK_SCOPE(&pairing->mutex);
    for (size_t i = 0; i < pairing->count; i++) {
        if (digest_equal(hash, pairing->entries[i].grant.id, sizeof hash)) {
            *grant = pairing->entries[i].grant;
            return true;
        }
    }
    return false;
}

size_t pairing_list(struct pairing *pairing, struct pairing_entry **entries)
{
    LOCK_SCOPE(&pairing->mutex);
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
    if (save_file(pairing, err) < 0) {
        memmove(&pairing->entries[index + 1], &pairing->entries[index], after * sizeof entry);
        pairing->entries[index] = entry;
        pairing->count++;
        return -1;
    }
    *revoked = entry.grant;
    return 0;
}
