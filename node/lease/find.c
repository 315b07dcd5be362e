#include "lease/find.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
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
        if (berth_is_taken(berth) && strcmp(berth->record.id, id) == 0 &&
            pairing_grant_reaches(grant, berth->record.owner))
            return berth;
        pthread_mutex_unlock(&berth->mutex);
    }
    return NULL;
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

void berth_describe(const struct berth *berth, struct lease_document *lease)
{
    describe_record(&berth->record, lease);
    lease->viewer_port = berth->view ? view_port(berth->view) : 0;
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
        const struct berth *berth = &leases->berths[i];
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (berth->state == BERTH_LEASED && pairing_grant_reaches(grant, berth->record.owner))
            berth_describe(berth, &list[used++]);
    }
    return used;
}

int leases_history(struct leases *leases, const struct pairing_grant *grant, size_t max,
                   struct lease_document **list, size_t *count, struct error *err)
{
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t found, used = 0;
    if (journal_history(&leases->journal, &records, &found, err) < 0)
        return -1;
    struct lease_document *documents = memory_array(found + 1, sizeof *documents);
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
