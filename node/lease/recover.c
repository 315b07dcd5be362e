#include "lease/recover.h"

#include <dirent.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/hypervisor.h"
#include "guest/owned.h"
#include "lease/adopt.h"
#include "lease/berth_golden.h"
#include "lease/end.h"

enum { LIST_MS = 15000 };

/* The record of the live lease that a guest belongs to, or NULL. */
static struct journal_record *find_record(const struct guest_owned *guest, struct journal_record *records,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (records[i].state == JOURNAL_LIVE && strcmp(records[i].id, guest->lease_id) == 0 &&
            strcmp(records[i].uuid, guest->guest.uuid) == 0)
            return &records[i];
    return NULL;
}

/* The berth that a record speaks of, free as yet; NULL when it has none. */
static struct berth *find_berth(struct leases *leases, const struct journal_record *record)
{
    if (record->berth < 0 || (size_t)record->berth >= leases->count)
        return NULL;
    struct berth *berth = &leases->berths[record->berth];
    return berth->state == BERTH_EMPTY && strcmp(berth->guest.uuid, record->uuid) == 0 ? berth : NULL;
}

/* Adopts the guest, or destroys it. A record whose lease goes on is marked by clearing its id. */
static int take_or_destroy(struct leases *leases, const struct guest_owned *guest,
                           struct journal_record *record, struct error *err)
{
    struct error reason = ERROR_INIT;
    struct berth *berth = record ? find_berth(leases, record) : NULL;
    if (berth && berth_adopt(berth, record, &reason) == 0) {
        record->id[0] = '\0';
        return 0;
    }
    if (record)
        log_warning("lease", "%s cannot go on: %s", record->id,
                    berth ? reason.text : "this node has no such berth");
    log_warning("lease", "destroying the guest %s, left from an earlier run", guest->name);
    return guest_destroy(&guest->guest, GUEST_DESTROY_MS, err);
}

/* Whether a file is of a berth whose lease goes on. */
static bool is_in_use(const struct leases *leases, const char *path)
{
    for (size_t i = 0; i < leases->count; i++) {
        const struct berth *berth = &leases->berths[i];
        if (berth->state == BERTH_LEASED &&
            (strcmp(berth->overlay, path) == 0 || text_starts(path, berth->console_log)))
            return true;
    }
    return false;
}

/* Overlays and console logs of this node carry its guests' names. */
static int remove_files(struct leases *leases, struct error *err)
{
    CLEANUP_FREE char *folder = file_join(leases->config->state_dir, "overlays");
    CLEANUP_FREE char *prefix = text_format("berth-%.8s-", leases->node_id);
    CLEANUP_FOLDER DIR *dir = opendir(folder);
    struct dirent *entry;
    int removed = 0;
    while (dir && removed == 0 && (entry = readdir(dir))) {
        if (!text_starts(entry->d_name, prefix))
            continue;
        CLEANUP_FREE char *path = file_join(folder, entry->d_name);
        if (!is_in_use(leases, path))
            removed = file_remove(path, err);
    }
    return removed;
}

static int finish_record(struct leases *leases, struct journal_record *record, struct error *err)
{
    struct lease_receipt receipt;
    if (record->state == JOURNAL_CREATING)
        return journal_remove(&leases->journal, record->id, err);
    if (record->state == JOURNAL_LIVE) {
        record->reason = REASON_GUEST_DIED;
        /* what is known of the end is the last stamp */
        record->ended_ms = journal_reached_ms(record);
    }
    record->paused = false;
    log_warning("lease", "%s was not ended by the earlier run; it is now (%s)", record->id,
                lease_reason_word(record->reason));
    return leases_write_receipt(leases, record, &receipt, err);
}

static int recover_guests(struct leases *leases, struct journal_record *records, size_t count,
                          struct error *err)
{
    struct guest_owned *list;
    size_t found;
    if (guest_list_owned(leases->hypervisor, leases->node_id, LIST_MS, &list, &found, err) < 0)
        return -1;
    int recovered = 0;
    for (size_t i = 0; i < found && recovered == 0; i++)
        recovered = take_or_destroy(leases, &list[i], find_record(&list[i], records, count), err);
    guest_list_free(list, found);
    return recovered;
}

static int recover_all(struct leases *leases, struct journal_record *records, size_t count, struct error *err)
{
    if (recover_guests(leases, records, count, err) < 0)
        return -1;
    fault_point("recover.guests");
    if (remove_files(leases, err) < 0 || leases_sweep_golden(leases, err) < 0)
        return -1;
    fault_point("recover.files");
    for (size_t i = 0; i < count; i++)
        if (records[i].id[0] && finish_record(leases, &records[i], err) < 0)
            return -1;
    return 0;
}

int leases_recover(struct leases *leases, struct error *err)
{
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t count;
    HYPERVISOR_HOLD_SCOPE(leases->hypervisor);
    file_sweep(leases->journal.folder, 0); /* the home is locked: nobody else writes there */
    if (journal_unfinished(&leases->journal, &records, &count, err) < 0 ||
        recover_all(leases, records, count, err) < 0)
        return error_prefix(err, "cannot clean up after an earlier run");
    return 0;
}
