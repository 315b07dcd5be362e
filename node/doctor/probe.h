/*
 * The probes: each looks at one thing, is bounded in time, and leaves a fact at zero (unknown) where it
 * cannot tell. Private to doctor/.
 */
#ifndef BERTHOS_DOCTOR_PROBE_H
#define BERTHOS_DOCTOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "doctor/doctor.h"
#include "doctor/facts.h"
#include "guest/hypervisor_facts.h"
#include "image/image.h"

/* Where the kernel's files are. Tests set folders of their own; everything else uses probe_roots_host. */
struct probe_roots {
    const char *sys, *proc, *dev, *etc;
};
extern const struct probe_roots probe_roots_host;

/* A user and its groups. */
struct probe_user {
    bool known;
    uid_t uid;
    gid_t groups[64];
    size_t group_count;
};

/* --- reading, bounded (probe.c) -------------------------------------------------------------------- */

/* Copies a text into a field of the facts; too long is cut. */
void probe_copy(char *field, size_t size, const char *text);
#define PROBE_COPY(field, text) probe_copy(field, sizeof(field), text)

/* The first line of "<root>/<name>" without its newline. False when it cannot be read. */
bool probe_line(const char *root, const char *name, char *line, size_t size);

/* The whole of a small file as a string (*owned*), NULL when it cannot be read. */
char *probe_text(const char *root, const char *name);

/* A whole decimal number that is the file's first line. False when it is anything else. */
bool probe_number(const char *root, const char *name, int64_t *value);

/* Whether "<root>/<name>" is there; unknown when that cannot be told. */
enum fact probe_exists(const char *root, const char *name);

/* The value after "key" and ':' or blanks in a text of lines, up to the line's end. False when it is not
 * there. */
bool probe_field(const char *text, const char *key, char *value, size_t size);

/* Whether the first line of /proc/cpuinfo that lists CPU flags has this one. */
enum fact probe_cpu_flag(const struct probe_roots *roots, const char *flag);

/* --- the probes ------------------------------------------------------------------------------------ */

void probe_chassis(const struct probe_roots *roots, struct chassis_facts *facts);
void probe_network(const struct probe_roots *roots, struct network_facts *facts);

/* Whether a program is in a PATH-like list of folders. */
enum fact probe_program(const char *path_list, const char *program);

/* user: whom QEMU runs as. Runs up to 0.1 s in a child process; killed after a second. */
void probe_kvm(const struct probe_roots *roots, const struct probe_user *user, struct kvm_facts *facts);

/* CPUs, memory, and the room at (the nearest existing parent of) overlay_dir. */
void probe_capacity(const struct probe_roots *roots, const char *overlay_dir, struct capacity_facts *facts);

/* The CPU times of /proc/stat: idle and in all. Two samples give the idle share. */
struct probe_cpu_sample {
    bool known;
    uint64_t idle, total;
};
struct probe_cpu_sample probe_cpu_sample(const struct probe_roots *roots);

/* What the control groups of this process leave; INT64_MAX where they set no limit (cgroup.c). */
struct cgroup_limits {
    int64_t milli_cpus, mem_free_mib;
};
void cgroup_limits(const struct probe_roots *roots, struct cgroup_limits *limits);

/* Who QEMU runs as. Under KVM, and now: as configured and in the first berth. */
struct probe_users {
    struct probe_user kvm, now;
};

/*
 * What libvirt and QEMU can do, and who QEMU runs as, which the label in *found says too. *found is *owned*
 * by the caller (hypervisor_facts_clear()) and zero when libvirt did not answer.
 */
void probe_runtime(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                   struct hypervisor_facts *found, struct probe_users *users, struct facts *facts);

/* Opens and verifies the image. The result is *owned*, NULL when it is not good. */
struct image *probe_image(const struct doctor_options *options, struct image_facts *facts);

/* Whether QEMU's user can read every file of it. */
void probe_image_readable(const struct image *image, const struct probe_user *user,
                          struct image_facts *facts);

/* Renders the domain of a lease, inspects it, and has libvirt turn it into QEMU's arguments. image may be
 * NULL: the paths are then those that it would have. */
void probe_domain(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                  const struct image *image, const struct hypervisor_facts *found, struct facts *facts);

/* What /proc tells of one process: user, filters, label, mounts, sockets. 0: there is none. */
void probe_process(pid_t pid, struct canary_facts *facts);

/* In the name of a canary, and of no berth's guest. */
#define PROBE_CANARY_MARK "-canary-"

/* Starts, looks at and destroys a paused guest without a disk. */
void probe_canary(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                  const struct image *image, const struct hypervisor_facts *found,
                  struct canary_facts *facts);

#endif
