/*
 * The canary: a paused guest without a disk, under the XML of a lease, whose QEMU is looked at from outside
 * and destroyed again. What it shows is true of a process, not of a configuration. Bound: 15 s for its start
 * and 20 for its end.
 */
#include "doctor/probe_canary.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "doctor/own_guests.h"
#include "guest/guest.h"
#include "guest/start.h"

enum { START_TIMEOUT_MS = 15000, SOCKETS_MAX = 256 };

static void look_at_status(const char *process, struct canary_facts *facts)
{
    char value[128];
    int64_t number;
    unsigned real, effective;
    CLEANUP_FREE char *status = probe_text(process, "status");
    if (!status)
        return;
    if (probe_field(status, "Uid", value, sizeof value) && sscanf(value, "%u %u", &real, &effective) == 2) {
        facts->uid_known = FACT_YES;
        facts->uid = real == 0 || effective == 0 ? 0 : effective;
    }
    if (probe_field(status, "Seccomp", value, sizeof value) && text_to_integer(value, 0, 9, &number))
        facts->seccomp = number == 2 ? FACT_YES : FACT_NO; /* 2: a filter */
    if (probe_field(status, "NoNewPrivs", value, sizeof value) && text_to_integer(value, 0, 9, &number))
        facts->no_new_privs = number == 1 ? FACT_YES : FACT_NO;
}

/* AppArmor: "libvirt-UUID (enforce)"; SELinux: "system_u:system_r:svirt_t:s0:c1,c2". */
static void look_at_label(const char *process, struct canary_facts *facts)
{
    char label[FACT_WORD] = "";
    if (!probe_line(process, "attr/apparmor/current", label, sizeof label) &&
        !probe_line(process, "attr/current", label, sizeof label)) {
        facts->labelled = FACT_NO;
        return;
    }
    PROBE_COPY(facts->label, label);
    bool apparmor = text_starts(label, "libvirt-") && strstr(label, "(enforce)");
    bool selinux = strstr(label, ":svirt_t:") || strstr(label, ":svirt_tcg_t:");
    facts->labelled = apparmor || selinux ? FACT_YES : FACT_NO;
}

static void look_at_mounts(const char *process, struct canary_facts *facts)
{
    char theirs[64], host[64];
    CLEANUP_FREE char *link = text_format("%s/ns/mnt", process);
    ssize_t a = readlink(link, theirs, sizeof theirs), b = readlink("/proc/1/ns/mnt", host, sizeof host);
    if (a > 0 && b > 0)
        facts->own_mounts = a == b && memcmp(theirs, host, (size_t)a) == 0 ? FACT_NO : FACT_YES;
}

/* The inodes of the process's sockets. A tap or vhost-net device is as bad as an internet socket. */
static int list_sockets(const char *process, uint64_t sockets[SOCKETS_MAX], struct error *err)
{
    CLEANUP_FREE char *path = text_format("%s/fd", process);
    CLEANUP_FOLDER DIR *folder = opendir(path);
    int count = 0;
    if (!folder)
        return error_set_errno(
            err, ERROR_INTERNAL, errno,
            "the open files of its QEMU cannot be listed (run the doctor as root for that)");
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char target[PATH_MAX];
        CLEANUP_FREE char *link = text_format("%s/%s", path, entry->d_name);
        ssize_t size = readlink(link, target, sizeof target - 1);
        if (entry->d_name[0] == '.')
            continue;
        if (size < 0)
            return error_set_errno(
                err, ERROR_INTERNAL, errno,
                "an open file of its QEMU cannot be read (run the doctor as root for that)");
        target[size] = '\0';
        if (strstr(target, "/net/tun") || strstr(target, "vhost-net"))
            return error_set(err, ERROR_INTERNAL, "its QEMU holds %s open", target);
        if (sscanf(target, "socket:[%" SCNu64 "]", &sockets[count]) != 1)
            continue;
        if (++count == SOCKETS_MAX)
            return error_set(err, ERROR_INTERNAL, "its QEMU holds more than %d sockets", SOCKETS_MAX - 1);
    }
    return count;
}

/* The inode is the tenth field of tcp, udp and raw tables (proc(5)) and the last of packet's. */
static uint64_t inode_of_line(const char *line, int field)
{
    char inode[32] = "";
    const char *at = line;
    for (int i = 0; i < field; i++) {
        at += strspn(at, " \t");
        sscanf(at, "%31[^ \t\n]", inode);
        at += strcspn(at, " \t\n");
    }
    return strtoull(inode, NULL, 10);
}

static int check_table(const char *process, const char *name, int field, const uint64_t *sockets, int count,
                       struct error *err)
{
    CLEANUP_FREE char *table = text_format("net/%s", name);
    CLEANUP_FREE char *text = probe_text(process, table);
    if (!text)
        return strstr(name, "6") || strcmp(name, "packet") == 0
                   ? 0 /* a kernel without IPv6 or packet sockets has none */
                   : error_set(err, ERROR_INTERNAL, "/proc/net/%s cannot be read", name);
    for (const char *line = probe_next_line(text); line; line = probe_next_line(line)) {
        uint64_t inode = inode_of_line(line, field);
        for (int i = 0; i < count; i++)
            if (inode == sockets[i])
                return error_set(err, ERROR_INTERNAL, "its QEMU holds a %s socket", name);
    }
    return 0;
}

/* Whatever is left must be a unix socket: a socket of another family, or one not bound yet, is in no table.
 */
static int check_rest(const char *process, const uint64_t *sockets, int count, struct error *err)
{
    CLEANUP_FREE char *text = probe_text(process, "net/unix");
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (const char *line = text; line && !found; line = probe_next_line(line))
            found = inode_of_line(line, 7) == sockets[i];
        if (!found)
            return error_set(err, ERROR_INTERNAL, "its QEMU holds a socket that is no unix socket");
    }
    return 0;
}

static void look_at_sockets(const char *process, struct canary_facts *facts)
{
    static const struct {
        const char *name;
        int field;
    } tables[] = {{"tcp", 10}, {"tcp6", 10}, {"udp", 10},  {"udp6", 10},
                  {"raw", 10}, {"raw6", 10}, {"packet", 9}};
    uint64_t sockets[SOCKETS_MAX];
    struct error err = ERROR_INIT;
    int count = list_sockets(process, sockets, &err);
    int result = count < 0 ? -1 : 0;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && result == 0; i++)
        result = check_table(process, tables[i].name, tables[i].field, sockets, count, &err);
    if (result == 0)
        result = check_rest(process, sockets, count, &err);
    facts->no_sockets = result == 0 ? FACT_YES : FACT_NO;
    PROBE_COPY(facts->sockets_error, err.text);
}

void probe_process(pid_t pid, struct canary_facts *facts)
{
    if (pid <= 0) {
        PROBE_COPY(facts->sockets_error, "its process was not found in /proc");
        return;
    }
    CLEANUP_FREE char *process = text_format("/proc/%d", (int)pid);
    look_at_status(process, facts);
    look_at_label(process, facts);
    look_at_mounts(process, facts);
    look_at_sockets(process, facts);
}

/* Name and UUID of its own each time: two doctors on a host do not meet. Our metadata lets the node clear
 * away the canary of a doctor that was killed. */
static void make_names(const char *node_id, char name[GUEST_NAME_SIZE], char uuid[GUEST_UUID_SIZE])
{
    unsigned char bytes[16];
    char hex[33] = "";
    random_bytes(bytes, sizeof bytes);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    text_hex(bytes, sizeof bytes, hex);
    snprintf(uuid, GUEST_UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
    snprintf(name, GUEST_NAME_SIZE, "berth-%.8s" OWN_CANARY_MARK "%.6s", node_id, hex);
}

void probe_canary(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                  const struct image *image, const struct hypervisor_facts *found, struct canary_facts *facts)
{
    if (!image || !node_id || !found->emulator || !found->machine)
        return;
    char name[GUEST_NAME_SIZE], uuid[GUEST_UUID_SIZE];
    struct error err = ERROR_INIT;
    struct guest_spec spec;
    int64_t start = clock_monotonic_ms();
    make_names(node_id, name, uuid);
    guest_spec_fill(&spec, config, image, found);
    spec.name = name;
    spec.uuid = uuid;
    spec.node_id = node_id;
    struct guest canary = guest_any_run(hypervisor, uuid);
    if (guest_start(&canary, &spec, true, START_TIMEOUT_MS, &err) < 0) {
        facts->started = FACT_NO;
        PROBE_COPY(facts->error, err.text);
        return;
    }
    facts->started = FACT_YES;
    probe_process(guest_process(uuid), facts);
    facts->gone = guest_destroy(&canary, GUEST_DESTROY_MS, &err) == 0 ? FACT_YES : FACT_NO;
    PROBE_COPY(facts->error, err.text);
    facts->took_ms = clock_monotonic_ms() - start;
}

const struct member probe_canary_members[] = {
    FACT_IS(canary, started),     FACT_IS(canary, gone),
    FACT_IS(canary, uid_known),   FACT_COUNTS(canary, uid),
    FACT_IS(canary, seccomp),     FACT_IS(canary, no_new_privs),
    FACT_IS(canary, labelled),    FACT_SAYS(canary, label),
    FACT_IS(canary, own_mounts),  FACT_IS(canary, no_sockets),
    FACT_SAYS(canary, error),     FACT_SAYS(canary, sockets_error),
    FACT_COUNTS(canary, took_ms), FACT_ROWS_END,
};
