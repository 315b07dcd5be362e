/* Who is told what happens to domains; hypervisor_watch() registers him. */
#ifndef BERTHOS_GUEST_WATCHER_H
#define BERTHOS_GUEST_WATCHER_H

/* Its functions are called on libvirt's event thread and must not block or call libvirt. */
struct guest_watcher {
    void *context;
    void (*gone)(void *context, const char *uuid); /* a domain stopped, for any reason */
    /* The CPUs of this run of a domain stand, or go on. why: static, the end of a sentence; NULL: they run.
     */
    void (*paused)(void *context, const char *uuid, int run, const char *why);
};

/* Why a domain's CPUs stand, in words: by its operator's wish, and by an error of its disk. */
#define GUEST_WHY_PAUSED   "the host's operator paused it"
#define GUEST_WHY_IO_ERROR "its disk failed, most likely because the host's disk is full"

#endif
