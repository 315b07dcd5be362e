/*
 * Recovery: what an earlier run of this node left behind, found by our metadata and the journal, is taken up
 * again, finished or undone before anybody is served.
 *
 *     record      guest of that lease    what happens
 *     live        there                  adopted (adopt.c)
 *     live        gone, or not ours      ended as guest_died; occupancy to the last stamp
 *     creating    any                    destroyed; the record removed: nobody was told of the lease
 *     ending      any                    destroyed; ended with the receipt that the first DELETE fixed
 *     none        ours by its metadata   destroyed
 *
 * Foreign domains and files are never touched, whatever their name.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/guest.h"
#include "guest/hypervisor.h"
#include "guest/owned.h"
#include "lease/berth.h"

enum { LIST_TIMEOUT_MS = 15000, DESTROY_TIMEOUT_MS = 20000 };

/* The guests of this node that libvirt knows. */
struct found {
    struct guest_owned *list;
    size_t count;
};

static void clear_found(struct found *found)
{
    guest_list_free(found->list, found->count);
}

/* The record of the live lease that a guest belongs to, or NULL. */
static struct journal_record *lease_of(const struct guest_owned *guest, struct journal_record *records,
                                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (records[i].state == JOURNAL_LIVE && strcmp(records[i].id, guest->lease_id) == 0 &&
            strcmp(records[i].uuid, guest->guest.uuid) == 0)
            return &records[i];
    return NULL;
}

/* The berth that a record speaks of, free as yet; NULL when it has none. */
static struct berth *berth_of(struct leases *leases, const struct journal_record *record)
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
    struct berth *berth = record ? berth_of(leases, record) : NULL;
    if (berth && berth_adopt(berth, record, &reason) == 0) {
        record->id[0] = '\0';
        return 0;
    }
    if (record)
        log_warning("lease", "%s cannot go on: %s", record->id,
                    berth ? reason.text : "this node has no such berth");
    log_warning("lease", "destroying the guest %s, left from an earlier run", guest->name);
    return guest_destroy(&guest->guest, DESTROY_TIMEOUT_MS, err);
}

/* Whether a file is of a berth whose lease goes on. */
static bool in_use(const struct leases *leases, const char *path)
{
    for (size_t i = 0; i < leases->count; i++) {
        const struct berth *berth = &leases->berths[i];
        if (berth->state == BERTH_LEASED &&
            (strcmp(berth->overlay, path) == 0 || strcmp(berth->console_log, path) == 0))
            return true;
    }
    return false;
}

/* Overlays and console logs of this node carry its guests' names. */
static int remove_files(struct leases *leases, struct error *err)
{
    CLEANUP_FREE char *folder = file_join(leases->options.config->state_dir, "overlays");
    CLEANUP_FREE char *prefix = text_format("berth-%.8s-", leases->options.node_id);
    CLEANUP_FOLDER DIR *dir = opendir(folder);
    struct dirent *entry;
    int removed = 0;
    while (dir && removed == 0 && (entry = readdir(dir))) {
        if (!text_starts(entry->d_name, prefix))
            continue;
        CLEANUP_FREE char *path = file_join(folder, entry->d_name);
        if (!in_use(leases, path))
            removed = file_remove(path, err);
    }
    return removed;
}

static int finish_record(struct leases *leases, struct journal_record *record, struct error *err)
{
    if (record->state == JOURNAL_CREATING)
        return journal_remove(&leases->journal, record->id, err);
    if (record->state == JOURNAL_LIVE) {
        record->reason = REASON_GUEST_DIED;
        /* what is known of the end is the last stamp */
        record->ended_ms = journal_reached_ms(record);
    }
    record->state = JOURNAL_ENDED;
    record->paused = false;
    log_warning("lease", "%s was not ended by the earlier run; it is now (%s)", record->id,
                lease_reason_word(record->reason));
    audit_write(leases->options.audit, "lease_ended",
                json_pack("{s:s, s:s, s:I}", "lease", record->id, "reason", lease_reason_word(record->reason),
                          "occupancy_seconds", (json_int_t)record->occupied_ms / 1000));
    return journal_write(&leases->journal, record, err);
}

static int recover(struct leases *leases, struct journal_record *records, size_t count, struct error *err)
{
    CLEANUP(clear_found) struct found found = {0};
    if (guest_list_owned(leases->options.hypervisor, leases->options.node_id, LIST_TIMEOUT_MS, &found.list,
                         &found.count, err) < 0)
        return -1;
    for (size_t i = 0; i < found.count; i++)
        if (take_or_destroy(leases, &found.list[i], lease_of(&found.list[i], records, count), err) < 0)
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
    HYPERVISOR_HOLD_SCOPE(leases->options.hypervisor);
    file_sweep(leases->journal.folder, 0); /* the home is locked: nobody else writes there */
    if (journal_unfinished(&leases->journal, &records, &count, err) < 0 ||
        recover(leases, records, count, err) < 0)
        return error_prefix(err, "cannot clean up after an earlier run");
    return 0;
}
