#include "lease/keeper.h"

#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "guest/watcher.h"
#include "lease/end.h"
#include "lease/jobs.h"
#include "lease/spare.h"

enum { STAMP_EVERY_MS = 10000, RETRY_EVERY_MS = 5000, DAY_MS = 86400 * 1000 };
#define ROOM_TO_GO_ON_BYTES (256ULL << 20)

/*
 * A stamp bounds what a crash can lose of the occupancy; a full disk costs a warning, not the lease. An end
 * that is asked for meanwhile waits for it: two writers of one record could leave the older one.
 */
static void stamp_record(struct berth *berth)
{
    struct error err = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    bool live = berth->state == BERTH_LEASED && !berth->acting;
    struct journal_record record = berth->record;
    if (live) {
        record.occupied_ms = berth_occupied_ms(berth);
        berth->acting = true;
    }
    pthread_mutex_unlock(&berth->mutex);
    if (!live)
        return;
    journal_stamp(&record);
    if (journal_write(&berth->leases->journal, &record, &err) < 0)
        log_warning("lease", "%s", err.text);
    LOCK_SCOPE(&berth->mutex);
    berth->acting = false;
    pthread_cond_broadcast(&berth->changed);
}

/* A guest that QEMU has stopped because the host's disk was full goes on once there is room again. */
static void mend_paused(struct berth *berth)
{
    struct error err = ERROR_INIT;
    struct statvfs disk;
    const char *folder = berth->leases->config->state_dir;
    pthread_mutex_lock(&berth->mutex);
    struct guest guest = berth->guest;
    bool full = berth->paused && strcmp(berth->paused, GUEST_WHY_IO_ERROR) == 0;
    pthread_mutex_unlock(&berth->mutex);
    if (!full || statvfs(folder, &disk) < 0 || (uint64_t)disk.f_bavail * disk.f_frsize < ROOM_TO_GO_ON_BYTES)
        return;
    log_info("lease", "%s: there is room on the disk again, its guest goes on", berth->name);
    if (guest_resume(&guest, BERTH_ASK_MS, &err) < 0)
        log_warning("lease", "%s: %s", berth->name, err.text);
}

static void end_lease(struct berth *berth, const char *id, enum lease_reason reason)
{
    struct lease_receipt receipt;
    struct error ignored = ERROR_INIT;
    berth_undo_again(berth);
    berth_end(berth, id, reason, &receipt, &ignored);
}

static void end_expired(struct berth *berth, const char *id)
{
    end_lease(berth, id, REASON_EXPIRED);
}

static void end_dead(struct berth *berth, const char *id)
{
    end_lease(berth, id, REASON_GUEST_DIED);
}

/* Looks after one berth; returns the monotonic time at which it must be looked at again. */
static int64_t look_after_berth(struct berth *berth)
{
    char id[LEASE_ID_SIZE];
    pthread_mutex_lock(&berth->mutex);
    enum berth_state state = berth->state;
    bool acting = berth->acting;
    int64_t expires_ms = berth->expires_boot_ms;
    memcpy(id, berth->record.id, sizeof id);
    pthread_mutex_unlock(&berth->mutex);

    if (state != BERTH_LEASED && state != BERTH_ENDING)
        return spare_look_after(berth);
    if (acting)
        return clock_deadline(RETRY_EVERY_MS);
    /*
     * Asked each time: an event is lost with the connection that it would have come over, and that of the
     * last lease may come when the next lease's guest runs under the same UUID.
     */
    bool gone = state == BERTH_LEASED && berth_guest_is_gone(berth);
    int64_t left_ms = expires_ms == CLOCK_NEVER ? CLOCK_NEVER : expires_ms - clock_boottime_ms();
    if (state == BERTH_LEASED && !gone && left_ms > 0) {
        stamp_record(berth);
        mend_paused(berth);
        return clock_deadline(left_ms < STAMP_EVERY_MS ? left_ms : STAMP_EVERY_MS);
    }
    /* on a thread of its own: a guest that takes long to go delays nobody else's end */
    jobs_start(berth, id, "lease-end", gone ? end_dead : end_expired);
    return clock_deadline(RETRY_EVERY_MS);
}

/* Once a day at most, and only when the keeper is awake anyway. */
static void compact_journal(struct leases *leases)
{
    struct error err = ERROR_INIT;
    int64_t now_ms = clock_monotonic_ms();
    if (leases->compacted_ms && now_ms - leases->compacted_ms < DAY_MS)
        return;
    leases->compacted_ms = now_ms;
    if (journal_compact(&leases->journal, clock_realtime_ms(), &err) < 0)
        log_warning("lease", "%s", err.text);
}

static void *keep_leases(void *argument)
{
    struct leases *leases = argument;
    pthread_mutex_lock(&leases->mutex);
    while (!leases->stopping) {
        leases->keeper_due = false;
        pthread_mutex_unlock(&leases->mutex);
        int64_t next_ms = CLOCK_NEVER;
        compact_journal(leases);
        for (size_t i = 0; i < leases->count; i++) {
            int64_t again_ms = look_after_berth(&leases->berths[i]);
            next_ms = again_ms < next_ms ? again_ms : next_ms;
        }
        pthread_mutex_lock(&leases->mutex);
        while (!leases->keeper_due && !leases->stopping)
            if (!sync_cond_wait(&leases->keeper_wake, &leases->mutex, next_ms))
                break;
    }
    jobs_await(leases);
    pthread_mutex_unlock(&leases->mutex);
    return NULL;
}

int keeper_start(struct leases *leases, struct error *err)
{
    if (sync_thread_start(&leases->keeper, "lease-keeper", keep_leases, leases, err) < 0)
        return -1;
    leases->keeper_started = true;
    return 0;
}

void keeper_join(struct leases *leases)
{
    if (leases->keeper_started)
        pthread_join(leases->keeper, NULL);
    leases->keeper_started = false;
}
