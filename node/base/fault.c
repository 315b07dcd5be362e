#include "base/fault.h"

#ifdef BERTHOS_FAULTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fault_point(const char *name)
{
    static atomic_int passed;
    const char *wanted = getenv("BERTHOS_FAULT");
    size_t length = strlen(name);
    if (!wanted || strncmp(wanted, name, length) != 0 || (wanted[length] != '\0' && wanted[length] != ':'))
        return;
    int nth = wanted[length] == ':' ? atoi(wanted + length + 1) : 1;
    if (atomic_fetch_add(&passed, 1) + 1 == nth)
        kill(getpid(), SIGKILL);
}

#endif
