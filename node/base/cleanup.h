/*
 * Scope-bound release of resources (GNU cleanup attribute).
 *
 *     CLEANUP_FREE char *text = NULL;          freed at the end of the scope
 *     CLEANUP_CLOSE int fd = -1;               closed when it is 0 or more
 *     CLEANUP_FOLDER DIR *folder = NULL;       closed when it is not NULL
 *     return TAKE(text);                       hands it out and leaves NULL behind
 *     LOCK_SCOPE(&berth->mutex);               held until the end of the scope
 *
 * Types of other parts define their own with CLEANUP_DEFINE beside their free function.
 */
#ifndef BERTHOS_BASE_CLEANUP_H
#define BERTHOS_BASE_CLEANUP_H

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

/* Defines cleanup_<name>(type *) that calls `release` when the pointer is not NULL. */
#define CLEANUP_DEFINE(name, type, release)                                                                  \
    static inline void cleanup_##name(type *slot)                                                            \
    {                                                                                                        \
        if (*slot)                                                                                           \
            release(*slot);                                                                                  \
    }                                                                                                        \
    struct cleanup_##name##_semicolon

static inline void cleanup_free(void *slot)
{
    free(*(void **)slot);
}

static inline void cleanup_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

static inline void cleanup_closedir(DIR **folder)
{
    if (*folder)
        closedir(*folder);
}

static inline void cleanup_unlock(pthread_mutex_t **mutex)
{
    pthread_mutex_unlock(*mutex);
}

static inline pthread_mutex_t *cleanup_lock(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    return mutex;
}

#define CLEANUP_FREE   CLEANUP(cleanup_free)
#define CLEANUP_CLOSE  CLEANUP(cleanup_close)
#define CLEANUP_FCLOSE CLEANUP(cleanup_fclose)
#define CLEANUP_FOLDER CLEANUP(cleanup_closedir)

#define CLEANUP_JOIN_(a, b) a##b
#define CLEANUP_JOIN(a, b)  CLEANUP_JOIN_(a, b)
#define LOCK_SCOPE(mutex)                                                                                    \
    CLEANUP(cleanup_unlock)                                                                                  \
    __attribute__((unused)) pthread_mutex_t *CLEANUP_JOIN(locked_, __LINE__) = cleanup_lock(mutex)

/* Moves a pointer out of a variable that would free it. */
#define TAKE(pointer)                                                                                        \
    __extension__({                                                                                          \
        __typeof__(pointer) taken_ = (pointer);                                                              \
        (pointer) = NULL;                                                                                    \
        taken_;                                                                                              \
    })

static inline int cleanup_take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* Moves a descriptor out of a variable that would close it. */
#define TAKE_FD(fd) cleanup_take_fd(&(fd))

#endif
