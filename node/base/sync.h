/* Conditions that wait by the monotonic clock, and threads with a name and no signals. */
#ifndef BERTHOS_BASE_SYNC_H
#define BERTHOS_BASE_SYNC_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Initialises a condition whose timed waits use CLOCK_MONOTONIC. */
void sync_cond_init(pthread_cond_t *cond);

/* Waits with the mutex held until signalled or the deadline (clock.h). False when the deadline has passed. */
bool sync_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ms);

/*
 * Starts a thread with all signals blocked: signals are handled by the main thread alone.
 * name: at most 15 characters, shown by ps and gdb. Returns 0, or -1 with ERROR_INTERNAL.
 */
int sync_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument,
                      struct error *err);

#endif
