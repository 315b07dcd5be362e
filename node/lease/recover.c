/*
 * Recovery: what an earlier run of this node left behind, found by our metadata and the journal, is finished
 * or undone before anybody is served. Foreign domains and files are never touched, whatever their name.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/guest.h"
#include "lease/berth.h"

enum { LIST_TIMEOUT_MS = 15000, DESTROY_TIMEOUT_MS = 20000 };

static int destroy_guests(struct leases *leases, struct error *err)
{
    struct guest_owned *list;
    size_t count;
    if (guest_list_owned(leases->options.hypervisor, leases->options.node_id, LIST_TIMEOUT_MS, &list, &count,
                         err) < 0)
        return -1;
    int destroyed = 0;
    for (size_t i = 0; i < count && destroyed == 0; i++) {
        log_warning("lease", "destroying the guest %s, left from an earlier run", list[i].name);
        destroyed = guest_destroy(leases->options.hypervisor, list[i].uuid, DESTROY_TIMEOUT_MS, err);
    }
    guest_list_free(list, count);
    return destroyed;
}

/* Overlays and console logs of this node carry its guests' names. */
static int remove_files(struct leases *leases, struct error *err)
{
    CLEANUP_FREE char *folder = file_join(leases->options.config->state_dir, "overlays");
    CLEANUP_FREE char *prefix = text_format("berth-%.8s-", leases->options.node_id);
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int removed = 0;
    while (dir && removed == 0 && (entry = readdir(dir))) {
        if (!text_starts(entry->d_name, prefix))
            continue;
        CLEANUP_FREE char *path = file_join(folder, entry->d_name);
        removed = file_remove(path, err);
    }
    if (dir)
        closedir(dir);
    return removed;
}

static int finish_record(struct leases *leases, struct journal_record *record, struct error *err)
{
    if (record->state == JOURNAL_CREATING)
        return journal_remove(&leases->journal, record->id, err);
    if (record->state == JOURNAL_LIVE) {
        record->reason = REASON_GUEST_DIED;
        /* what is known of the end is the last stamp */
        record->ended_ms = record->started_ms + record->occupied_ms;
    }
    record->state = JOURNAL_ENDED;
    log_warning("lease", "%s was not ended by the earlier run; it is now (%s)", record->id,
                lease_reason_word(record->reason));
    return journal_write(&leases->journal, record, err);
}

int leases_recover(struct leases *leases, struct error *err)
{
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t count;
    HYPERVISOR_HOLD_SCOPE(leases->options.hypervisor);
    if (journal_unfinished(&leases->journal, &records, &count, err) < 0 || destroy_guests(leases, err) < 0 ||
        remove_files(leases, err) < 0)
        return error_prefix(err, "cannot clean up after an earlier run");
    for (size_t i = 0; i < count; i++)
        if (finish_record(leases, &records[i], err) < 0)
            return error_prefix(err, "cannot clean up after an earlier run");
    return 0;
}
