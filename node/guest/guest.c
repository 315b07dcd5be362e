#include "guest/guest.h"

#include <dirent.h>
#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/domain_xml.h"
#include "guest/inspect.h"
#include "guest/started.h"

/* --- start ----------------------------------------------------------------------------------------- */

struct start_state {
    char *xml;
    char *live_xml; /* out */
    int run;        /* out */
    bool paused;
};

static void clear_start(void *state)
{
    struct start_state *start = state;
    free(start->xml);
    free(start->live_xml);
}

int started_read(virDomainPtr domain, const void *state, char **live_xml, int *run, struct error *err)
{
    *run = (int)virDomainGetID(domain);
    if (call_abandoned(state)) {
        virDomainDestroy(domain);
        return error_set(err, ERROR_HYPERVISOR, "the guest started too late and was destroyed");
    }
    *live_xml = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_SECURE);
    if (*live_xml)
        return 0;
    call_libvirt_error(ERROR_HYPERVISOR, err, "cannot read the started guest's XML back");
    virDomainDestroy(domain);
    return -1;
}

int started_inspect(const struct guest *guest, const struct guest_spec *spec, const char *live_xml,
                    int64_t timeout_ms, struct error *err)
{
    if (domain_inspect(live_xml, spec, err) == 0)
        return 0;
    log_error("guest", "%s is not what was asked for and is destroyed: %s", spec->name, err->text);
    struct error second = ERROR_INIT;
    if (guest_destroy(guest, timeout_ms, &second) < 0)
        log_error("guest", "%s", second.text);
    return -1;
}

static int start(virConnectPtr connection, void *state, struct error *err)
{
    struct start_state *start = state;
    unsigned flags = VIR_DOMAIN_START_VALIDATE | (start->paused ? VIR_DOMAIN_START_PAUSED : 0);
    CLEANUP_DOMAIN virDomainPtr domain = virDomainCreateXML(connection, start->xml, flags);
    if (!domain)
        return call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot start the guest");
    return started_read(domain, state, &start->live_xml, &start->run, err);
}

int guest_start(struct guest *guest, const struct guest_spec *spec, bool paused, int64_t timeout_ms,
                struct error *err)
{
    CLEANUP_CALL struct start_state *state = call_new(sizeof *state, clear_start);
    state->xml = domain_xml_render(spec);
    state->paused = paused;
    if (hypervisor_call(guest->hypervisor, "start the guest", start, state, timeout_ms, err) < 0)
        return -1;
    guest->run = state->run;
    return started_inspect(guest, spec, state->live_xml, timeout_ms, err);
}

/* --- end ------------------------------------------------------------------------------------------- */

/* libvirt's words for a domain that ended by itself meanwhile. */
static bool has_ended(void)
{
    return virGetLastErrorCode() == VIR_ERR_NO_DOMAIN || virGetLastErrorCode() == VIR_ERR_OPERATION_INVALID;
}

static int destroy(virDomainPtr domain, void *state, struct error *err)
{
    (void)state;
    if (virDomainDestroy(domain) < 0 && !has_ended())
        return call_libvirt_error(ERROR_ENDING, err, "cannot destroy the guest");
    return call_see_gone(domain, err);
}

int guest_destroy(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    struct error reason = ERROR_INIT;
    CLEANUP_CALL void *state = call_new(0, NULL);
    if (call_guest(guest, "destroy the guest", destroy, state, timeout_ms, &reason) == 0 ||
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
        return call_libvirt_error(ERROR_HYPERVISOR, err, "cannot ask for the guest's state");
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
        return call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot open the guest's display");
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
static bool arguments_name(const char *arguments, size_t size, const char *uuid)
{
    bool next = false;
    for (size_t at = 0; at < size; at += strlen(arguments + at) + 1) {
        if (next)
            return strcmp(arguments + at, uuid) == 0;
        next = strcmp(arguments + at, "-uuid") == 0;
    }
    return false;
}

pid_t guest_process(const char *uuid)
{
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
        CLEANUP_FREE char *path = text_format("/proc/%s/cmdline", entry->d_name);
        if (file_read(path, 1 << 17, &arguments, &size, &ignored) == 0 &&
            arguments_name(arguments, size, uuid))
            found = (pid_t)pid;
    }
    return found;
}
