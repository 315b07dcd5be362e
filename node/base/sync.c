#include "base/sync.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"

void sync_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool sync_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ms)
{
    if (deadline_ms == CLOCK_NEVER) {
        pthread_cond_wait(cond, mutex);
        return true;
    }
    struct timespec until = {.tv_sec = (time_t)(deadline_ms / 1000),
                             .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

int sync_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument,
                      struct error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return error_set_errno(err, ERROR_INTERNAL, failed, "cannot start the thread %s", name);
    pthread_setname_np(*thread, name);
    return 0;
}
