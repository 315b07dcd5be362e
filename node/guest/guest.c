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
    char uuid[VIR_UUID_STRING_BUFLEN];
    bool paused;
};

static void clear_start(void *state)
{
    struct start_state *start = state;
    free(start->xml);
    free(start->live_xml);
}

int started_read(virDomainPtr domain, const void *state, char **live_xml, struct error *err)
{
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

int started_inspect(struct hypervisor *hypervisor, const struct guest_spec *spec, const char *live_xml,
                    int64_t timeout_ms, struct error *err)
{
    if (domain_inspect(live_xml, spec, err) == 0)
        return 0;
    log_error("guest", "%s is not what was asked for and is destroyed: %s", spec->name, err->text);
    struct error second = ERROR_INIT;
    if (guest_destroy(hypervisor, spec->uuid, timeout_ms, &second) < 0)
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
    return started_read(domain, state, &start->live_xml, err);
}

int guest_start(struct hypervisor *hypervisor, const struct guest_spec *spec, bool paused, int64_t timeout_ms,
                struct error *err)
{
    CLEANUP_CALL struct start_state *state = call_new(sizeof *state, clear_start);
    state->xml = domain_xml_render(spec);
    state->paused = paused;
    if (hypervisor_call(hypervisor, "start the guest", start, state, timeout_ms, err) < 0)
        return -1;
    return started_inspect(hypervisor, spec, state->live_xml, timeout_ms, err);
}

/* --- end ------------------------------------------------------------------------------------------- */

struct uuid_state {
    char uuid[VIR_UUID_STRING_BUFLEN];
    enum guest_state state; /* out */
    int fd;                 /* out */
};

static struct uuid_state *new_uuid_state(const char *uuid, void (*clear)(void *))
{
    struct uuid_state *state = call_new(sizeof *state, clear);
    snprintf(state->uuid, sizeof state->uuid, "%s", uuid);
    state->fd = -1;
    return state;
}

static int destroy(virConnectPtr connection, void *state, struct error *err)
{
    struct uuid_state *given = state;
    struct error missing = ERROR_INIT;
    CLEANUP_DOMAIN virDomainPtr domain = call_domain(connection, given->uuid, &missing);
    if (!domain && missing.code == ERROR_NOT_FOUND)
        return 0;
    if (!domain) {
        *err = missing;
        return -1;
    }
    if (virDomainDestroy(domain) < 0 && virGetLastErrorCode() != VIR_ERR_NO_DOMAIN &&
        virGetLastErrorCode() != VIR_ERR_OPERATION_INVALID)
        return call_libvirt_error(ERROR_ENDING, err, "cannot destroy the guest");
    return call_see_gone(connection, given->uuid, err);
}

int guest_destroy(struct hypervisor *hypervisor, const char *uuid, int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL struct uuid_state *state = new_uuid_state(uuid, NULL);
    if (hypervisor_call(hypervisor, "destroy the guest", destroy, state, timeout_ms, err) == 0)
        return 0;
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

static int read_state(virConnectPtr connection, void *state, struct error *err)
{
    struct uuid_state *given = state;
    struct error missing = ERROR_INIT;
    int libvirt_state, reason;
    CLEANUP_DOMAIN virDomainPtr domain = call_domain(connection, given->uuid, &missing);
    if (!domain && missing.code == ERROR_NOT_FOUND) {
        given->state = GUEST_GONE;
        return 0;
    }
    if (!domain) {
        *err = missing;
        return -1;
    }
    if (virDomainGetState(domain, &libvirt_state, &reason, 0) == 0)
        given->state = state_of(libvirt_state, reason);
    else if (virGetLastErrorCode() == VIR_ERR_NO_DOMAIN)
        given->state = GUEST_GONE; /* since it was looked up */
    else
        return call_libvirt_error(ERROR_HYPERVISOR, err, "cannot ask for the guest's state");
    return 0;
}

int guest_state(struct hypervisor *hypervisor, const char *uuid, int64_t timeout_ms, enum guest_state *state,
                struct error *err)
{
    CLEANUP_CALL struct uuid_state *given = new_uuid_state(uuid, NULL);
    if (hypervisor_call(hypervisor, "ask for the guest's state", read_state, given, timeout_ms, err) < 0)
        return -1;
    *state = given->state;
    return 0;
}

/* --- display --------------------------------------------------------------------------------------- */

static void clear_display(void *state)
{
    struct uuid_state *given = state;
    if (given->fd >= 0)
        close(given->fd);
}

static int open_display(virConnectPtr connection, void *state, struct error *err)
{
    struct uuid_state *given = state;
    CLEANUP_DOMAIN virDomainPtr domain = call_domain(connection, given->uuid, err);
    if (!domain)
        return -1;
    given->fd = virDomainOpenGraphicsFD(domain, 0, VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH);
    if (given->fd < 0)
        return call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot open the guest's display");
    return 0;
}

int guest_open_display(struct hypervisor *hypervisor, const char *uuid, int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL struct uuid_state *state = new_uuid_state(uuid, clear_display);
    if (hypervisor_call(hypervisor, "open the guest's display", open_display, state, timeout_ms, err) < 0)
        return -1;
    return TAKE_FD(state->fd);
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
    DIR *proc = opendir("/proc");
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
    if (proc)
        closedir(proc);
    return found;
}
