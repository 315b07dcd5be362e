#include "base/cancel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sync.h"

struct cancel {
    atomic_bool fired;
    pthread_mutex_t mutex; /* held while the listener is called, so that unlisten can wait for it */
    void (*wake)(void *context);
    void *context;
};

struct cancel *cancel_new(void)
{
    struct cancel *cancel = memory_new(sizeof *cancel);
    pthread_mutex_init(&cancel->mutex, NULL);
    return cancel;
}

void cancel_free(struct cancel *cancel)
{
    if (!cancel)
        return;
    pthread_mutex_destroy(&cancel->mutex);
    free(cancel);
}

bool cancel_fired(const struct cancel *cancel)
{
    return cancel && atomic_load(&cancel->fired);
}

void cancel_fire(struct cancel *cancel)
{
    LOCK_SCOPE(&cancel->mutex);
    if (!atomic_exchange(&cancel->fired, true) && cancel->wake)
        cancel->wake(cancel->context);
}

void cancel_listen(struct cancel *cancel, void (*wake)(void *context), void *context)
{
    if (!cancel)
        return;
    LOCK_SCOPE(&cancel->mutex);
    cancel->wake = wake;
    cancel->context = context;
    if (atomic_load(&cancel->fired))
        wake(context);
}

void cancel_unlisten(struct cancel *cancel)
{
    if (!cancel)
        return;
    LOCK_SCOPE(&cancel->mutex);
    cancel->wake = NULL;
}
