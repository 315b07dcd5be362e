#include "lease/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sync.h"

struct job {
    struct berth *berth;
    void (*work)(struct berth *berth, const char *id);
    char id[LEASE_ID_SIZE];
};

void jobs_wake_keeper(struct leases *leases)
{
    LOCK_SCOPE(&leases->mutex);
    leases->keeper_due = true;
    pthread_cond_broadcast(&leases->keeper_wake);
}

static void *run_job(void *argument)
{
    CLEANUP_FREE struct job *job = argument;
    struct leases *leases = job->berth->leases;
    job->work(job->berth, job->id);
    LOCK_SCOPE(&leases->mutex);
    leases->jobs--;
    leases->keeper_due = true;
    pthread_cond_broadcast(&leases->keeper_wake);
    return NULL;
}

void jobs_start(struct berth *berth, const char *id, const char *name,
                void (*work)(struct berth *berth, const char *id))
{
    struct error err = ERROR_INIT;
    pthread_t thread;
    struct job *job = memory_new(sizeof *job);
    *job = (struct job){berth, work, ""};
    memcpy(job->id, id, sizeof job->id);
    pthread_mutex_lock(&berth->leases->mutex);
    berth->leases->jobs++;
    pthread_mutex_unlock(&berth->leases->mutex);
    if (sync_thread_start(&thread, name, run_job, job, &err) == 0) {
        pthread_detach(thread);
        return;
    }
    log_error("lease", "%s", err.text);
    run_job(job); /* late is better than never */
}

void jobs_await(struct leases *leases)
{
    while (leases->jobs > 0)
        sync_cond_wait(&leases->keeper_wake, &leases->mutex, CLOCK_NEVER);
}
