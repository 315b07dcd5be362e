/* Finding leases and describing them, for whoever may know of them; and ending them. */
#include <stdlib.h>
#include <string.h>

#include "lease/berth.h"

int leases_no_such(struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "there is no live lease of this id");
}

struct berth *leases_lock(struct leases *leases, const char *id, const struct pairing_grant *grant)
{
    for (size_t i = 0; i < leases->count; i++) {
        struct berth *berth = &leases->berths[i];
        pthread_mutex_lock(&berth->mutex);
        if ((berth->state == BERTH_LEASED || berth->state == BERTH_ENDING) &&
            berth->record.state != JOURNAL_CREATING && strcmp(berth->record.id, id) == 0 &&
            pairing_grant_reaches(grant, berth->record.owner))
            return berth;
        pthread_mutex_unlock(&berth->mutex);
    }
    return NULL;
}

/* The same for a lease that is being made and that nobody was told of but by /v1/node. */
static struct berth *lock_making(struct leases *leases, const char *id, const struct pairing_grant *grant)
{
    for (size_t i = 0; i < leases->count; i++) {
        struct berth *berth = &leases->berths[i];
        pthread_mutex_lock(&berth->mutex);
        if (berth->state == BERTH_PREPARING && strcmp(berth->record.id, id) == 0 &&
            pairing_grant_reaches(grant, berth->record.owner))
            return berth;
        pthread_mutex_unlock(&berth->mutex);
    }
    return NULL;
}

void berth_describe(const struct berth *berth, struct lease_document *lease)
{
    const struct journal_record *record = &berth->record;
    *lease = (struct lease_document){
        .live = true,
        .shape = record->shape,
        .started_ms = record->started_ms,
        .expires_ms = record->expires_ms,
        .viewer_port = berth->view ? view_port(berth->view->view) : 0,
    };
    memcpy(lease->id, record->id, sizeof lease->id);
}

int leases_get(struct leases *leases, const char *id, const struct pairing_grant *grant,
               struct lease_document *lease, struct error *err)
{
    struct berth *berth = leases_lock(leases, id, grant);
    bool live = berth && berth->state == BERTH_LEASED;
    if (live)
        berth_describe(berth, lease);
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    return live ? 0 : leases_no_such(err);
}

size_t leases_list(struct leases *leases, const struct pairing_grant *grant, struct lease_document *list,
                   size_t max)
{
    size_t used = 0;
    for (size_t i = 0; i < leases->count && used < max; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].state == BERTH_LEASED &&
            pairing_grant_reaches(grant, leases->berths[i].record.owner))
            berth_describe(&leases->berths[i], &list[used++]);
    }
    return used;
}

static void describe_record(const struct journal_record *record, struct lease_document *lease)
{
    bool live = record->state == JOURNAL_LIVE;
    *lease = (struct lease_document){
        .live = live,
        .shape = record->shape,
        .started_ms = record->started_ms,
        .ended_ms = live ? 0 : record->ended_ms,
        .expires_ms = record->expires_ms,
        .reason = live ? NULL : lease_reason_word(record->reason),
    };
    memcpy(lease->id, record->id, sizeof lease->id);
}

int leases_history(struct leases *leases, const struct pairing_grant *grant, size_t max,
                   struct lease_document **list, size_t *count, struct error *err)
{
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t found, used = 0;
    if (journal_history(&leases->journal, &records, &found, err) < 0)
        return -1;
    struct lease_document *documents = calloc(found + 1, sizeof *documents);
    if (!documents)
        abort();
    for (size_t i = 0; i < found && used < max; i++)
        if (pairing_grant_reaches(grant, records[i].owner))
            describe_record(&records[i], &documents[used++]);
    *list = documents;
    *count = used;
    return 0;
}

int leases_receipt(struct leases *leases, const char *id, const struct pairing_grant *grant,
                   struct lease_receipt *receipt, struct error *err)
{
    struct journal_record record;
    if (journal_read(&leases->journal, id, &record, err) < 0)
        return -1;
    if (!pairing_grant_reaches(grant, record.owner) || record.state != JOURNAL_ENDED)
        return error_set(err, ERROR_NOT_FOUND, "there is no ended lease of this id");
    journal_receipt(&record, receipt);
    return 0;
}

int leases_end(struct leases *leases, const char *id, const struct pairing_grant *grant,
               enum lease_reason reason, struct lease_receipt *receipt, struct error *err)
{
    struct berth *berth = lock_making(leases, id, grant);
    if (berth) {
        pthread_mutex_unlock(&berth->mutex);
        if (berth_cancel_create(berth, id))
            return error_set(
                err, ERROR_NOT_FOUND,
                "the lease was still being made: its create is cancelled, and there is no receipt");
    }
    berth = leases_lock(leases, id, grant);
    if (berth) {
        pthread_mutex_unlock(&berth->mutex);
        if (berth_end(berth, id, reason, receipt, err) == 0)
            return 0;
        if (err->code != ERROR_NOT_FOUND) { /* else another thread has just ended it */
            keeper_wake(leases);            /* to go on trying */
            return -1;
        }
    }
    return leases_receipt(leases, id, grant, receipt, err);
}

int leases_view(struct leases *leases, const char *id, const struct pairing_grant *grant, enum view_mode mode,
                struct leases_ticket *ticket, struct error *err)
{
    struct berth *berth = leases_lock(leases, id, grant);
    bool open = berth && berth->view;
    if (open) {
        ticket->port = view_port(berth->view->view);
        view_ticket(berth->view->view, mode, grant->id, ticket->ticket);
    }
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    return open ? 0 : leases_no_such(err);
}

void leases_revoke(struct leases *leases, const char *grant)
{
    for (size_t i = 0; i < leases->count; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].view)
            view_revoke(leases->berths[i].view->view, grant);
    }
}
