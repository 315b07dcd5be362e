/*
 * Named points at which a test may kill the process, to see what a crash at that very step leaves behind.
 * They are there in builds with BERTHOS_FAULTS alone (the asan preset); elsewhere they are nothing.
 *
 * $BERTHOS_FAULT names the point; "NAME:N" means its N-th passing.
 */
#ifndef BERTHOS_BASE_FAULT_H
#define BERTHOS_BASE_FAULT_H

#ifdef BERTHOS_FAULTS
/* Ends the process as kill -9 does, when this point is the one. */
void fault_point(const char *name);
#else
static inline void fault_point(const char *name)
{
    (void)name;
}
#endif

#endif
