/*
 * What the costly findings of an examination stand on: the daemon, /dev/kvm, the image's files, node.toml. As
 * long as all of it is what it was, KVM's timing, QEMU's capabilities and the canary need no second look.
 * Private to doctor/.
 */
#ifndef BERTHOS_DOCTOR_GROUND_H
#define BERTHOS_DOCTOR_GROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "doctor/probe.h"

/* A file at a path; all zero when there is none. */
struct ground_stamp {
    uint64_t device, inode, size_bytes, mtime_ns, ctime_ns, mode, owner, group;
};

enum { GROUND_FILES = 7, GROUND_DAEMONS = 4 };

struct ground {
    struct ground_stamp files[GROUND_FILES];     /* image folder, its four files, /dev/kvm, node.toml */
    struct ground_stamp daemons[GROUND_DAEMONS]; /* pid files of libvirt's daemons */
    uint64_t started[GROUND_DAEMONS];            /* when that process began, ticks since boot; 0 unknown */
};

/* run_dir: "/run", or the user's for qemu:///session. Reads a dozen inodes, waits for nothing. */
void ground_read(const struct probe_roots *roots, const char *run_dir, const struct config *config,
                 struct ground *ground);

/* Whether it is the same ground. Never where no daemon's pid file could be seen: then nothing would tell of
 * another daemon. */
bool ground_same(const struct ground *a, const struct ground *b);

/* Where the daemon of this configuration keeps its pid file. *Owned*, NULL where that is not known. */
char *ground_run_dir(const struct config *config);

#endif
