#include "guest/guest.h"

#include <dirent.h>
#include <errno.h>
#include <libvirt/virterror.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/libvirt_error.h"
#include "guest/spec.h"

/* --- end ------------------------------------------------------------------------------------------- */

/* libvirt's words for a domain that ended by itself meanwhile. */
static bool has_ended(void)
{
    return virGetLastErrorCode() == VIR_ERR_NO_DOMAIN || virGetLastErrorCode() == VIR_ERR_OPERATION_INVALID;
}

static int destroy_domain(virDomainPtr domain, void *state, struct error *err)
{
    (void)state;
    int run = (int)virDomainGetID(domain);
    if (virDomainDestroy(domain) < 0 && !has_ended())
        return libvirt_error(ERROR_ENDING, err, "cannot destroy the guest");
    return call_see_gone(domain, run, err);
}

int guest_destroy(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    struct error reason = ERROR_INIT;
    CLEANUP_CALL void *state = call_new(0, NULL);
    if (call_guest(guest, "destroy the guest", destroy_domain, state, timeout_ms, &reason) == 0 ||
        reason.code == ERROR_NOT_FOUND)
        return 0;
    *err = reason;
    return error_recode(err, ERROR_ENDING);
}

/* --- state ----------------------------------------------------------------------------------------- */

static enum guest_state state_of(int state, int reason)
{
    switch (state) {
    case VIR_DOMAIN_RUNNING:
    case VIR_DOMAIN_BLOCKED:
        return GUEST_RUNNING;
    case VIR_DOMAIN_PAUSED:
        return reason == VIR_DOMAIN_PAUSED_IOERROR ? GUEST_PAUSED_IO_ERROR : GUEST_PAUSED;
    default:
        return GUEST_STOPPED;
    }
}

static int read_state(virDomainPtr domain, void *state, struct error *err)
{
    enum guest_state *found = state;
    int libvirt_state, reason;
    if (virDomainGetState(domain, &libvirt_state, &reason, 0) == 0)
        *found = state_of(libvirt_state, reason);
    else if (virGetLastErrorCode() == VIR_ERR_NO_DOMAIN)
        *found = GUEST_GONE; /* since it was looked up */
    else
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot ask for the guest's state");
    return 0;
}

int guest_state(const struct guest *guest, int64_t timeout_ms, enum guest_state *state, struct error *err)
{
    struct error reason = ERROR_INIT;
    CLEANUP_CALL enum guest_state *found = call_new(sizeof *found, NULL);
    if (call_guest(guest, "ask for the guest's state", read_state, found, timeout_ms, &reason) == 0) {
        *state = *found;
        return 0;
    }
    *state = GUEST_GONE;
    if (reason.code == ERROR_NOT_FOUND)
        return 0;
    *err = reason;
    return -1;
}

static int set_running(virDomainPtr domain, void *state, struct error *err)
{
    const bool *run = state;
    int now, reason;
    if (virDomainGetState(domain, &now, &reason, 0) < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot ask for the guest's state");
    bool running = now == VIR_DOMAIN_RUNNING || now == VIR_DOMAIN_BLOCKED;
    if (running == *run)
        return 0;
    if ((*run ? virDomainResume(domain) : virDomainSuspend(domain)) < 0)
        return libvirt_error(ERROR_GUEST_FAILED, err, "cannot %s the guest", *run ? "resume" : "pause");
    return 0;
}

int guest_pause(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL bool *run = call_new(sizeof *run, NULL);
    return call_guest(guest, "pause the guest", set_running, run, timeout_ms, err);
}

int guest_resume(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL bool *run = call_new(sizeof *run, NULL);
    *run = true;
    return call_guest(guest, "resume the guest", set_running, run, timeout_ms, err);
}

static int read_cpu_time(virDomainPtr domain, void *state, struct error *err)
{
    int64_t *cpu_us = state;
    virDomainInfo info;
    if (virDomainGetInfo(domain, &info) < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot read the guest's CPU time");
    *cpu_us = (int64_t)(info.cpuTime / 1000);
    return 0;
}

int guest_cpu_time(const struct guest *guest, int64_t timeout_ms, int64_t *cpu_us, struct error *err)
{
    CLEANUP_CALL int64_t *found = call_new(sizeof *found, NULL);
    if (call_guest(guest, "read the guest's CPU time", read_cpu_time, found, timeout_ms, err) < 0)
        return -1;
    *cpu_us = *found;
    return 0;
}

/* --- display --------------------------------------------------------------------------------------- */

static void clear_display(void *state)
{
    int *fd = state; /* 0 until it is open: descriptors of libvirt's are above stderr */
    if (*fd > 0)
        close(*fd);
}

static int open_display(virDomainPtr domain, void *state, struct error *err)
{
    int *fd = state;
    *fd = virDomainOpenGraphicsFD(domain, 0, VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH);
    if (*fd < 0)
        return libvirt_error(ERROR_GUEST_FAILED, err, "cannot open the guest's display");
    return 0;
}

int guest_open_display(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL int *opened = call_new(sizeof *opened, clear_display);
    if (call_guest(guest, "open the guest's display", open_display, opened, timeout_ms, err) < 0)
        return -1;
    int fd = *opened;
    *opened = 0; /* the caller's now */
    return fd;
}

/* --- process --------------------------------------------------------------------------------------- */

/* Whether the arguments (separated by NUL) contain "-uuid" followed by this one. */
static bool name_uuid(const char *arguments, size_t size, const char *uuid)
{
    bool next = false;
    for (size_t at = 0; at < size; at += strlen(arguments + at) + 1) {
        if (next)
            return strcmp(arguments + at, uuid) == 0;
        next = strcmp(arguments + at, "-uuid") == 0;
    }
    return false;
}

/* Whether the process is of a user that a guest's QEMU runs as: anybody may write what he likes into his own
 * arguments. */
static bool is_of_guests(const char *folder, const struct peer_policy *policy)
{
    enum { STATUS_MAX = 65536 };
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE char *path = text_format("%s/status", folder);
    CLEANUP_FREE char *status = NULL;
    size_t size;
    unsigned uid;
    if (file_read(path, STATUS_MAX, &status, &size, &ignored) < 0)
        return false;
    const char *line = strstr(status, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u", &uid) != 1)
        return false;
    return uid == policy->own || peer_judge(policy, true, uid).kind == PEER_REFUSED;
}

/* Whether the process runs a QEMU, as far as we may see what it runs. */
static bool runs_qemu(const char *folder)
{
    char program[PATH_MAX];
    CLEANUP_FREE char *path = text_format("%s/exe", folder);
    ssize_t length = readlink(path, program, sizeof program - 1);
    if (length < 0)
        return errno == EACCES || errno == EPERM;
    program[length] = '\0';
    const char *name = strrchr(program, '/');
    return name && (text_starts(name, "/qemu-") || text_starts(name, "/kvm"));
}

pid_t guest_process(const char *uuid)
{
    const struct peer_policy policy = guest_peers("");
    CLEANUP_FOLDER DIR *proc = opendir("/proc");
    pid_t found = 0;
    struct dirent *entry;
    while (proc && !found && (entry = readdir(proc))) {
        int64_t pid;
        struct error ignored = ERROR_INIT;
        CLEANUP_FREE char *arguments = NULL;
        size_t size;
        if (!text_to_integer(entry->d_name, 1, INT32_MAX, &pid))
            continue;
        CLEANUP_FREE char *folder = text_format("/proc/%s", entry->d_name);
        CLEANUP_FREE char *path = text_format("%s/cmdline", folder);
        if (file_read(path, 1 << 17, &arguments, &size, &ignored) == 0 && name_uuid(arguments, size, uuid) &&
            is_of_guests(folder, &policy) && runs_qemu(folder))
            found = (pid_t)pid;
    }
    return found;
}
