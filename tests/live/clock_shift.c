/*
 * A host's clock that somebody sets, for one process: loaded before everything else (LD_PRELOAD), it adds the
 * number of seconds in the file BERTHOS_TEST_CLOCK (8 bytes, of this machine) to CLOCK_REALTIME, at each call
 * anew. The clocks that nobody can set stay as they are. The kernel keeps its own time: who waits for a
 * moment of CLOCK_REALTIME waits wrong, which is to be seen.
 *
 * It calls the kernel and nothing else: under a sanitizer the C library may not be ready yet.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic(const volatile int64_t *) shift;

static int64_t shift_s(void)
{
    const volatile int64_t *mapped = atomic_load(&shift);
    const char *path = mapped ? NULL : getenv("BERTHOS_TEST_CLOCK");
    if (path) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return 0;
        long at = syscall(SYS_mmap, NULL, sizeof *mapped, PROT_READ, MAP_SHARED, fd, 0);
        syscall(SYS_close, fd);
        if (at < 0 && at > -4096)
            return 0;
        mapped = (const volatile int64_t *)at;
        atomic_store(&shift, mapped);
    }
    return mapped ? *mapped : 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int got = (int)syscall(SYS_clock_gettime, id, now);
    if (got == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift_s();
    return got;
}

time_t time(time_t *when)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (when)
        *when = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict when, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *when = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}
