/* What is left of this host for one more guest. Bound: a dozen small files of the kernel, which make nobody
 * wait, and one statvfs(), which answers as fast as the file system of state_dir does. */
#include "doctor/probe_capacity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/user.h"
#include "doctor/cgroup.h"
#include "image/readable.h"

enum { CPUS_MAX = 8192 };

/* Reads a list like "0-3,8,10-11". False when it is anything else. */
static bool read_cpus(const char *list, bool cpus[CPUS_MAX])
{
    memset(cpus, 0, CPUS_MAX * sizeof cpus[0]);
    const char *at = list;
    while (*at) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (end == at)
            return false;
        if (*end == '-') {
            at = end + 1;
            last = strtoul(at, &end, 10);
            if (end == at)
                return false;
        }
        if (last >= CPUS_MAX || first > last || (*end && *end != ','))
            return false;
        for (unsigned long cpu = first; cpu <= last; cpu++)
            cpus[cpu] = true;
        at = *end ? end + 1 : end;
    }
    return at != list;
}

static void count_cpus(const struct probe_roots *roots, const struct cgroup_limits *limits,
                       struct capacity_facts *facts)
{
    static const char key[] = "Cpus_allowed_list";
    char line[1024];
    bool online[CPUS_MAX], allowed[CPUS_MAX];
    CLEANUP_FREE char *status = probe_text(roots->proc, "self/status");
    if (!probe_line(roots->sys, "devices/system/cpu/online", line, sizeof line) || !read_cpus(line, online) ||
        !status || !probe_field(status, key, line, sizeof line) || !read_cpus(line, allowed))
        return;
    int64_t of_host = 0, usable = 0;
    for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
        of_host += online[cpu];
        usable += online[cpu] && allowed[cpu];
    }
    facts->cpus = usable;
    if (usable < of_host)
        PROBE_COPY(facts->cpu_limit, "the CPU set of this process");
    if (limits->milli_cpus / 1000 < usable) {
        facts->cpus = limits->milli_cpus / 1000;
        PROBE_COPY(facts->cpu_limit, "the control group's quota");
    }
}

/* MemAvailable leaves out reserved huge pages already; guests here use none. */
static void count_memory(const struct probe_roots *roots, const struct cgroup_limits *limits,
                         struct capacity_facts *facts)
{
    char value[64];
    long long available_kib;
    CLEANUP_FREE char *text = probe_text(roots->proc, "meminfo");
    if (!text || !probe_field(text, "MemAvailable", value, sizeof value) ||
        sscanf(value, "%lld kB", &available_kib) != 1 || available_kib < 0)
        return;
    facts->mem_free_mib = available_kib / 1024;
    if (limits->mem_free_mib < facts->mem_free_mib) {
        facts->mem_free_mib = limits->mem_free_mib;
        PROBE_COPY(facts->mem_limit, "the control group's limit");
    }
}

/* What keeps overlays from being made in a folder that has room for them; NULL when nothing does. *Owned*. */
static char *find_disk_fault(const char *path, const struct statvfs *room)
{
    enum { INODES_MIN = 256 }; /* a lease takes a handful, its journal too */
    if (room->f_flag & ST_RDONLY)
        return text_format(
            "the file system of %s is read-only: mount it writable, or set state_dir to another", path);
    if (room->f_files > 0 && room->f_favail < INODES_MIN) /* some file systems do not count them */
        return text_format(
            "the file system of %s has %lu inodes left, and %d are needed: remove files there, or "
            "set state_dir to another",
            path, (unsigned long)room->f_favail, INODES_MIN);
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0)
        return NULL;
    CLEANUP_FREE char *user = user_label(geteuid());
    return text_format("%s cannot be written by %s: run chown %u %s, or set state_dir to another folder",
                       path, user, (unsigned)geteuid(), path);
}

static void count_disk(const char *overlay_dir, struct capacity_facts *facts)
{
    CLEANUP_FREE char *path = text_copy(overlay_dir);
    struct statvfs room;
    while (statvfs(path, &room) < 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT || !slash || !path[1])
            return;
        slash[slash == path ? 1 : 0] = '\0';
    }
    facts->disk_free_mib = (int64_t)(((uint64_t)room.f_bavail * room.f_frsize) >> 20);
    PROBE_COPY(facts->disk_path, path);
    CLEANUP_FREE char *fault = find_disk_fault(path, &room);
    if (fault)
        PROBE_COPY(facts->disk_fault, fault);
}

void probe_capacity_entered(const struct probe_user *user, struct capacity_facts *facts)
{
    struct error err = ERROR_INIT;
    if (user->known && facts->disk_path[0] && !facts->disk_fault[0] &&
        image_enterable_for(facts->disk_path, user->uid, user->groups, user->group_count, &err) < 0)
        PROBE_COPY(facts->disk_fault, err.text);
}

void probe_capacity(const struct probe_roots *roots, const char *overlay_dir, struct capacity_facts *facts)
{
    struct cgroup_limits limits;
    cgroup_limits(roots, &limits);
    count_cpus(roots, &limits, facts);
    count_memory(roots, &limits, facts);
    count_disk(overlay_dir, facts);
}

struct probe_cpu_sample probe_cpu_sample(const struct probe_roots *roots)
{
    struct probe_cpu_sample sample = {0};
    char line[512];
    uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
    if (!probe_line(roots->proc, "stat", line, sizeof line) ||
        sscanf(line,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
        return sample;
    sample.known = true;
    sample.idle = idle + iowait;
    sample.total = user + nice + system + idle + iowait + irq + softirq + steal;
    return sample;
}

const struct member probe_capacity_members[] = {
    FACT_COUNTS(capacity, cpus),
    FACT_SAYS(capacity, cpu_limit),
    FACT_IS(capacity, given_known),
    FACT_COUNTS(capacity, vcpu_given),
    FACT_COUNTS(capacity, idle_permille),
    FACT_COUNTS(capacity, mem_free_mib),
    FACT_SAYS(capacity, mem_limit),
    FACT_COUNTS(capacity, own_mem_mib),
    FACT_COUNTS(capacity, own_leases),
    FACT_ROW("parked", MEMBER_INTEGER, capacity, spares, .max = INT64_MAX),
    FACT_ROW("parked_mem_mib", MEMBER_INTEGER, capacity, spare_mem_mib, .max = INT64_MAX),
    FACT_COUNTS(capacity, saved_states),
    FACT_COUNTS(capacity, disk_free_mib),
    FACT_SAYS(capacity, disk_path),
    FACT_SAYS(capacity, disk_fault),
    FACT_ROWS_END,
};
