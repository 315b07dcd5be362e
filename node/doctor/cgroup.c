/*
 * Limits of control groups, version 2 (https://docs.kernel.org/admin-guide/cgroup-v2.html) and 1: inside a
 * container or a limited service they count, not the host. Every group from ours up to the root is asked;
 * the tightest wins.
 */
#include "doctor/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

/* Version 1 says "no limit" with a number near 2^63, rounded down to pages. */
static const int64_t NO_LIMIT_V1 = INT64_C(1) << 60;

static void tighten_limit(int64_t *limit, int64_t value)
{
    if (value < *limit)
        *limit = value;
}

static void memory_left(const char *group, const char *stat_key, int64_t max, int64_t used,
                        struct cgroup_limits *limits)
{
    /* page cache that was not used lately goes first when memory is needed, so it counts as free */
    char value[32];
    int64_t cached = 0;
    CLEANUP_FREE char *stat = probe_text(group, "memory.stat");
    if (!stat || !probe_field(stat, stat_key, value, sizeof value) ||
        !text_to_integer(value, 0, INT64_MAX / 2, &cached))
        cached = 0;
    int64_t free_bytes = max - used + cached;
    tighten_limit(&limits->mem_free_mib, free_bytes > 0 ? (free_bytes < max ? free_bytes : max) >> 20 : 0);
}

static void read_v2(const char *group, struct cgroup_limits *limits)
{
    char line[64];
    int64_t quota, period, max, used;
    if (probe_line(group, "cpu.max", line, sizeof line) &&
        sscanf(line, "%" SCNd64 " %" SCNd64, &quota, &period) == 2 && quota >= 0 && period > 0)
        tighten_limit(&limits->milli_cpus, quota < INT64_MAX / 1000 ? quota * 1000 / period : INT64_MAX);
    if (probe_number(group, "memory.max", &max) && probe_number(group, "memory.current", &used))
        memory_left(group, "inactive_file", max, used, limits);
}

static void read_v1_cpu(const char *group, struct cgroup_limits *limits)
{
    int64_t quota, period;
    if (probe_number(group, "cpu.cfs_quota_us", &quota) &&
        probe_number(group, "cpu.cfs_period_us", &period) && quota > 0 && quota < INT64_MAX / 1000 &&
        period > 0)
        tighten_limit(&limits->milli_cpus, quota * 1000 / period);
}

static void read_v1_memory(const char *group, struct cgroup_limits *limits)
{
    int64_t max, used;
    if (probe_number(group, "memory.limit_in_bytes", &max) &&
        probe_number(group, "memory.usage_in_bytes", &used) && max < NO_LIMIT_V1)
        memory_left(group, "total_inactive_file", max, used, limits);
}

/* Asks a group and all above it, up to the mount. */
static void walk_groups(const char *mount, const char *group,
                        void (*ask)(const char *, struct cgroup_limits *), struct cgroup_limits *limits)
{
    CLEANUP_FREE char *path = text_format("%s%s", mount, group);
    for (size_t floor = strlen(mount);;) {
        ask(path, limits);
        char *slash = strrchr(path + floor, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

/* Whether a comma-separated list of controllers has this one. */
static bool has_controller(const char *controllers, size_t size, const char *wanted)
{
    size_t length = strlen(wanted);
    for (size_t at = 0; at + length <= size; at++)
        if (strncmp(controllers + at, wanted, length) == 0 && (at == 0 || controllers[at - 1] == ',') &&
            (at + length == size || controllers[at + length] == ','))
            return true;
    return false;
}

/* One line of /proc/self/cgroup, "ID:CONTROLLERS:PATH"; version 2 has no controllers there. */
static void read_line(const char *root, const char *line, struct cgroup_limits *limits)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path || strstr(path, "/.."))
        return;
    size_t size = (size_t)(path - ++controllers);
    CLEANUP_FREE char *group = text_format("%.*s", (int)strcspn(path + 1, "\n"), path + 1);
    if (size == 0) {
        CLEANUP_FREE char *hybrid = text_format("%s/unified", root);
        walk_groups(root, group, read_v2, limits);
        walk_groups(hybrid, group, read_v2, limits);
        return;
    }
    CLEANUP_FREE char *mount = text_format("%s/%.*s", root, (int)size, controllers);
    if (has_controller(controllers, size, "cpu"))
        walk_groups(mount, group, read_v1_cpu, limits);
    if (has_controller(controllers, size, "memory"))
        walk_groups(mount, group, read_v1_memory, limits);
}

void cgroup_limits(const struct probe_roots *roots, struct cgroup_limits *limits)
{
    *limits = (struct cgroup_limits){.milli_cpus = INT64_MAX, .mem_free_mib = INT64_MAX};
    CLEANUP_FREE char *root = file_join(roots->sys, "fs/cgroup");
    CLEANUP_FREE char *text = probe_text(roots->proc, "self/cgroup");
    for (char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        read_line(root, line, limits);
}
