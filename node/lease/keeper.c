/* What happens to leases without anybody asking: expiry, a guest that died, stamps of occupancy, ends to
 * retry. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sync.h"
#include "guest/guest.h"
#include "lease/berth.h"

enum { STAMP_EVERY_MS = 10000, RETRY_EVERY_MS = 5000, ASK_TIMEOUT_MS = 5000 };

/* A stamp bounds what a crash can lose of the occupancy; a full disk costs a warning, not the lease. */
static void stamp(struct leases *leases, struct berth *berth)
{
    struct error err = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    bool live = berth->state == BERTH_LEASED;
    struct journal_record record = berth->record;
    if (live)
        record.occupied_ms = berth_occupied_ms(berth);
    pthread_mutex_unlock(&berth->mutex);
    journal_stamp(&record);
    if (live && journal_write(&leases->journal, &record, &err) < 0)
        log_warning("lease", "%s", err.text);
}

/*
 * Whether the guest has really stopped. libvirt's word alone is not enough: the event of the last lease's end
 * may come after the next lease's guest has started under the same UUID.
 */
static bool confirm_gone(struct leases *leases, struct berth *berth)
{
    struct error err = ERROR_INIT;
    enum guest_state state;
    if (guest_state(leases->options.hypervisor, berth->uuid, ASK_TIMEOUT_MS, &state, &err) < 0)
        return false;
    bool gone = state == GUEST_GONE || state == GUEST_STOPPED;
    LOCK_SCOPE(&berth->mutex);
    berth->gone = gone;
    return gone;
}

/* Looks after one berth; returns the monotonic time at which it must be looked at again. */
static int64_t look_after(struct leases *leases, struct berth *berth)
{
    char id[LEASE_ID_SIZE];
    pthread_mutex_lock(&berth->mutex);
    enum berth_state state = berth->state;
    bool acting = berth->acting, gone = berth->gone;
    int64_t expires_ms = berth->expires_boot_ms;
    memcpy(id, berth->record.id, sizeof id);
    pthread_mutex_unlock(&berth->mutex);

    if (acting || (state != BERTH_LEASED && state != BERTH_ENDING))
        return CLOCK_NEVER;
    if (state == BERTH_LEASED && gone)
        gone = confirm_gone(leases, berth);
    int64_t left_ms = expires_ms == CLOCK_NEVER ? CLOCK_NEVER : expires_ms - clock_boottime_ms();
    if (state == BERTH_LEASED && !gone && left_ms > 0) {
        stamp(leases, berth);
        return clock_deadline(left_ms < STAMP_EVERY_MS ? left_ms : STAMP_EVERY_MS);
    }
    struct lease_receipt receipt;
    struct error err = ERROR_INIT;
    if (berth_end(leases, berth, id, gone ? REASON_GUEST_DIED : REASON_EXPIRED, &receipt, &err) < 0)
        return clock_deadline(RETRY_EVERY_MS);
    return CLOCK_NEVER;
}

static void *keep(void *argument)
{
    struct leases *leases = argument;
    pthread_mutex_lock(&leases->mutex);
    while (!leases->stopping) {
        leases->keeper_due = false;
        pthread_mutex_unlock(&leases->mutex);
        int64_t next_ms = CLOCK_NEVER;
        for (size_t i = 0; i < leases->count; i++) {
            int64_t again_ms = look_after(leases, &leases->berths[i]);
            next_ms = again_ms < next_ms ? again_ms : next_ms;
        }
        pthread_mutex_lock(&leases->mutex);
        while (!leases->keeper_due && !leases->stopping)
            if (!sync_cond_wait(&leases->keeper_wake, &leases->mutex, next_ms))
                break;
    }
    pthread_mutex_unlock(&leases->mutex);
    return NULL;
}

int keeper_start(struct leases *leases, struct error *err)
{
    if (sync_thread_start(&leases->keeper, "lease-keeper", keep, leases, err) < 0)
        return -1;
    leases->keeper_started = true;
    return 0;
}

void keeper_wake(struct leases *leases)
{
    LOCK_SCOPE(&leases->mutex);
    leases->keeper_due = true;
    pthread_cond_signal(&leases->keeper_wake);
}
