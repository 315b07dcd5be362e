/*
 * Makes a guest that was restored from a saved state one of its own, before a tenant has it. Run by the
 * agent, as root.
 *
 * The kernel's random pool is seeded anew by the generation id at every restore. A running program's own
 * generator is not: two guests of one state draw the same from it, and Chromium's first TLS keys were seen to
 * be equal. What such libraries have against being copied is memory that is empty after a fork (madvise(2),
 * MADV_WIPEONFORK): when they find it empty, they seed anew from the kernel. A restore is such a copy, so
 * that memory is emptied here, in every process that has any ("wf" among the VmFlags of proc(5)'s smaps).
 *
 * And /etc/machine-id gets a value of its own, a random UUID as machine-id(5) asks for.
 *
 * Answers as the helper does, of which it is the verb "renew" (client.c): {"ok":true}, or
 * {"ok":false,...} and exit 1.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Such memory is a page or two; more than this is something else, and is not touched. */
#define WIPE_MAX_BYTES ((uint64_t)1 << 20)

struct range {
    uint64_t start, end;
};

static int complain(const char *what)
{
    printf("{\"ok\":false,\"typed\":0,\"error\":\"%s: %s\"}\n", what, strerror(errno));
    return -1;
}

/* Writes zeros over a range of a process's memory. A process that ends meanwhile needs none: 0. */
static int wipe(long pid, const struct range *range)
{
    static const char zeros[4096];
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/mem", pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == ESRCH ? 0 : complain(path);
    ssize_t put = 1;
    for (uint64_t at = range->start; at < range->end && put > 0; at += (uint64_t)put) {
        uint64_t left = range->end - at;
        put = pwrite(fd, zeros, left < sizeof zeros ? (size_t)left : sizeof zeros, (off_t)at);
    }
    int failed = put > 0 || errno == ESRCH ? 0 : complain(path);
    close(fd);
    return failed;
}

/* Reads the line that begins a mapping, "start-end perms ...". Leaves *range alone where it is another line.
 */
static bool read_range(const char *line, struct range *range)
{
    struct range read;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &read.start, &read.end) != 2)
        return false;
    *range = read;
    return true;
}

/* Whether a line of smaps is "VmFlags: ... wf ...". */
static bool is_wiped_on_fork(const char *line)
{
    return strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " wf") != NULL;
}

/* Empties what the process has of such memory. */
static int wipe_process(long pid)
{
    char path[64], *line = NULL;
    size_t size = 0;
    struct range range = {0, 0};
    int failed = 0;
    snprintf(path, sizeof path, "/proc/%ld/smaps", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return errno == ENOENT || errno == ESRCH ? 0 : complain(path);
    while (failed == 0 && getline(&line, &size, file) > 0) {
        if (read_range(line, &range) || !is_wiped_on_fork(line) || range.end - range.start > WIPE_MAX_BYTES)
            continue;
        failed = wipe(pid, &range);
    }
    free(line);
    fclose(file);
    return failed;
}

static int wipe_all(void)
{
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return complain("/proc");
    int failed = 0;
    const struct dirent *entry;
    while (failed == 0 && (entry = readdir(processes)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            failed = wipe_process(strtol(entry->d_name, NULL, 10));
    closedir(processes);
    return failed;
}

static int write_machine_id(void)
{
    static const char path[] = "/etc/machine-id", aside[] = "/etc/machine-id.new";
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return complain("getrandom");
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* version 4, RFC 9562 section 5.4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    FILE *file = fopen(aside, "we");
    if (file == NULL)
        return complain(aside);
    for (size_t i = 0; i < sizeof bytes; i++)
        fprintf(file, "%02x", bytes[i]);
    fputc('\n', file);
    if (fclose(file) != 0 || chmod(aside, 0444) != 0 || rename(aside, path) != 0)
        return complain(path);
    return 0;
}

int main(void)
{
    if (wipe_all() != 0 || write_machine_id() != 0)
        return 1;
    puts("{\"ok\":true}");
    return 0;
}
