/* Does the way out go over radio, and could the host fall asleep? Bound: small files of the kernel and links
 * in /etc, which make nobody wait. */
#include "doctor/probe_network.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

enum { DEVICE_SIZE = 32, DEPTH_MAX = 4, ROUTE_UP = 1, ROUTE_REJECT = 0x200 };

static enum fact take_worst(enum fact a, enum fact b)
{
    if (a == FACT_YES || b == FACT_YES)
        return FACT_YES;
    return a == FACT_UNKNOWN || b == FACT_UNKNOWN ? FACT_UNKNOWN : FACT_NO;
}

/*
 * Whether a network device is a radio, or stands on one: bridges, bonds and VLANs have lower_* links to what
 * they stand on. A device with neither hardware nor anything below it (a tunnel) says nothing.
 */
static enum fact device_wireless(const char *classes, const char *device, int depth)
{
    CLEANUP_FREE char *path = text_format("%s/%s", classes, device);
    if (probe_exists(path, "wireless") == FACT_YES || probe_exists(path, "phy80211") == FACT_YES)
        return FACT_YES;
    CLEANUP_FOLDER DIR *folder = opendir(path);
    if (!folder || depth >= DEPTH_MAX)
        return FACT_UNKNOWN;
    enum fact below = FACT_NO;
    bool any = false;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        if (text_starts(entry->d_name, "lower_")) {
            any = true;
            below = take_worst(below, device_wireless(classes, entry->d_name + 6, depth + 1));
        }
    if (any)
        return below;
    return probe_exists(path, "device") == FACT_YES ? FACT_NO : FACT_UNKNOWN;
}

static void add_device(const struct probe_roots *roots, const char *device, struct network_facts *facts,
                       bool *any)
{
    CLEANUP_FREE char *classes = file_join(roots->sys, "class/net");
    enum fact found = device_wireless(classes, device, 0);
    bool first = !*any;
    enum fact before = facts->wireless;
    facts->wireless = first ? found : take_worst(before, found);
    *any = true;
    /* the one that decided is the evidence */
    if (first || facts->wireless != before)
        PROBE_COPY(facts->device, device);
    if (found == FACT_UNKNOWN) {
        CLEANUP_FREE char *why =
            text_format("%s is a virtual device, and what it stands on is not seen", device);
        PROBE_COPY(facts->error, why);
    }
}

/* /proc/net/route: Iface Destination Gateway Flags RefCnt Use Metric Mask ..., numbers in hex. */
static void read_ipv4(const struct probe_roots *roots, struct network_facts *facts, bool *any)
{
    CLEANUP_FREE char *text = probe_text(roots->proc, "net/route");
    for (const char *line = text; line; line = probe_next_line(line)) {
        char device[DEVICE_SIZE];
        unsigned destination, flags, mask;
        if (sscanf(line, "%31s %x %*x %x %*d %*d %*d %x", device, &destination, &flags, &mask) == 4 &&
            destination == 0 && mask == 0 && (flags & ROUTE_UP) && !(flags & ROUTE_REJECT))
            add_device(roots, device, facts, any);
    }
}

/* /proc/net/ipv6_route: destination, its prefix, source, its prefix, next hop, metric, references, use,
 * flags, device. */
static void read_ipv6(const struct probe_roots *roots, struct network_facts *facts, bool *any)
{
    CLEANUP_FREE char *text = probe_text(roots->proc, "net/ipv6_route");
    for (const char *line = text; line; line = probe_next_line(line)) {
        char device[DEVICE_SIZE], destination[33];
        unsigned prefix, flags;
        if (sscanf(line, "%32[0-9a-f] %x %*s %*x %*s %*x %*x %*x %x %31s", destination, &prefix, &flags,
                   device) == 4 &&
            prefix == 0 && strspn(destination, "0") == 32 && (flags & ROUTE_UP) && !(flags & ROUTE_REJECT) &&
            strcmp(device, "lo") != 0)
            add_device(roots, device, facts, any);
    }
}

static bool is_masked(const struct probe_roots *roots, const char *target)
{
    char link[PATH_MAX];
    CLEANUP_FREE char *path = text_format("%s/systemd/system/%s", roots->etc, target);
    ssize_t size = readlink(path, link, sizeof link - 1);
    return size == 9 && memcmp(link, "/dev/null", 9) == 0;
}

static void read_sleep(const struct probe_roots *roots, struct network_facts *facts)
{
    char states[FACT_WORD] = "";
    if (probe_line(roots->sys, "power/state", states, sizeof states))
        PROBE_COPY(facts->sleep_states, states[0] ? states : "none");
    else if (probe_exists(roots->sys, "class") != FACT_YES ||
             probe_exists(roots->sys, "power/state") != FACT_NO)
        return;
    bool able = strspn(states, " ") != strlen(states);
    bool forbidden = is_masked(roots, "sleep.target") ||
                     (is_masked(roots, "suspend.target") && is_masked(roots, "hibernate.target") &&
                      is_masked(roots, "hybrid-sleep.target"));
    facts->sleeps = able && !forbidden ? FACT_YES : FACT_NO;
}

void probe_network(const struct probe_roots *roots, struct network_facts *facts)
{
    bool any = false;
    read_ipv4(roots, facts, &any);
    read_ipv6(roots, facts, &any);
    if (!any)
        PROBE_COPY(facts->error, "there is no default route");
    read_sleep(roots, facts);
}

const struct member probe_network_members[] = {
    FACT_IS(network, wireless), FACT_SAYS(network, device),       FACT_SAYS(network, error),
    FACT_IS(network, sleeps),   FACT_SAYS(network, sleep_states), FACT_ROWS_END,
};
