#include "view/tickets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"

enum { REVOKED_MAX = 64 };

struct entry {
    char hash[DIGEST_HEX_SIZE]; /* "" when the place is free */
    struct pass pass;
    int64_t used_ms; /* monotonic: made or used last */
};

struct tickets {
    pthread_mutex_t mutex; /* guards all below; no other lock is taken under it */
    struct entry tickets[TICKETS_MAX];
    struct entry sessions[SESSIONS_MAX];
    char revoked[REVOKED_MAX][DIGEST_HEX_SIZE]; /* grants, in turn; "" when the place is free */
    size_t next_revoked;
};

struct tickets *tickets_new(void)
{
    struct tickets *tickets = memory_new(sizeof *tickets);
    pthread_mutex_init(&tickets->mutex, NULL);
    return tickets;
}

void tickets_free(struct tickets *tickets)
{
    pthread_mutex_destroy(&tickets->mutex);
    free(tickets);
}

/* The place for a new entry: a free one, else the one that was used longest ago. */
static struct entry *find_place(struct entry *list, size_t count)
{
    struct entry *oldest = list;
    for (struct entry *entry = list; entry < list + count; entry++) {
        if (!entry->hash[0])
            return entry;
        if (entry->used_ms < oldest->used_ms)
            oldest = entry;
    }
    return oldest;
}

/* With the mutex held. */
static bool is_revoked(const struct tickets *tickets, const char *grant)
{
    for (size_t i = 0; i < REVOKED_MAX; i++)
        if (grant[0] && strcmp(tickets->revoked[i], grant) == 0)
            return true;
    return false;
}

static void make_entry(const struct tickets *tickets, struct entry *list, size_t count,
                       const struct pass *pass, int64_t now_ms, char text[VIEW_SECRET_SIZE])
{
    random_hex(text, (VIEW_SECRET_SIZE - 1) / 2);
    if (is_revoked(tickets, pass->grant))
        return;
    struct entry *entry = find_place(list, count);
    digest_buffer(text, VIEW_SECRET_SIZE - 1, entry->hash);
    entry->pass = *pass;
    entry->used_ms = now_ms;
}

/* Compares with every entry, whichever fits, so that the time tells nothing. */
static struct entry *find_entry(struct entry *list, size_t count, const char *text)
{
    char hash[DIGEST_HEX_SIZE];
    struct entry *found = NULL;
    if (!text_is_hex(text, VIEW_SECRET_SIZE - 1))
        return NULL;
    digest_buffer(text, VIEW_SECRET_SIZE - 1, hash);
    for (struct entry *entry = list; entry < list + count; entry++)
        if (digest_equal(hash, entry->hash, sizeof hash))
            found = entry;
    return found;
}

void tickets_issue(struct tickets *tickets, const struct pass *pass, int64_t now_ms,
                   char ticket[VIEW_SECRET_SIZE])
{
    LOCK_SCOPE(&tickets->mutex);
    make_entry(tickets, tickets->tickets, TICKETS_MAX, pass, now_ms, ticket);
}

/* With the mutex held: a ticket that is good now. */
static struct entry *find_ticket(struct tickets *tickets, const char *ticket, int64_t now_ms)
{
    struct entry *entry = find_entry(tickets->tickets, TICKETS_MAX, ticket);
    return entry && now_ms - entry->used_ms < VIEW_TICKET_S * 1000 ? entry : NULL;
}

bool tickets_look(struct tickets *tickets, const char *ticket, int64_t now_ms, struct pass *pass)
{
    LOCK_SCOPE(&tickets->mutex);
    const struct entry *entry = find_ticket(tickets, ticket, now_ms);
    if (entry)
        *pass = entry->pass;
    return entry != NULL;
}

bool tickets_take(struct tickets *tickets, const char *ticket, int64_t now_ms, struct pass *pass)
{
    LOCK_SCOPE(&tickets->mutex);
    struct entry *entry = find_ticket(tickets, ticket, now_ms);
    if (!entry)
        return false;
    *pass = entry->pass;
    memset(entry, 0, sizeof *entry);
    return true;
}

void tickets_open_session(struct tickets *tickets, const struct pass *pass, int64_t now_ms,
                          char secret[VIEW_SECRET_SIZE])
{
    LOCK_SCOPE(&tickets->mutex);
    make_entry(tickets, tickets->sessions, SESSIONS_MAX, pass, now_ms, secret);
}

bool tickets_session(struct tickets *tickets, const char *secret, int64_t now_ms, struct pass *pass)
{
    LOCK_SCOPE(&tickets->mutex);
    struct entry *entry = find_entry(tickets->sessions, SESSIONS_MAX, secret);
    if (!entry)
        return false;
    entry->used_ms = now_ms;
    *pass = entry->pass;
    return true;
}

static void drop_entries(struct entry *list, size_t count, const char *grant)
{
    for (struct entry *entry = list; entry < list + count; entry++)
        if (entry->hash[0] && strcmp(entry->pass.grant, grant) == 0)
            memset(entry, 0, sizeof *entry);
}

void tickets_revoke(struct tickets *tickets, const char *grant)
{
    LOCK_SCOPE(&tickets->mutex);
    snprintf(tickets->revoked[tickets->next_revoked], DIGEST_HEX_SIZE, "%s", grant);
    tickets->next_revoked = (tickets->next_revoked + 1) % REVOKED_MAX;
    drop_entries(tickets->tickets, TICKETS_MAX, grant);
    drop_entries(tickets->sessions, SESSIONS_MAX, grant);
}

bool tickets_revoked(struct tickets *tickets, const char *grant)
{
    LOCK_SCOPE(&tickets->mutex);
    return is_revoked(tickets, grant);
}
