#include "guest/start.h"

#include <libvirt/virterror.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/domain_xml.h"
#include "guest/guest.h"
#include "guest/hypervisor.h"
#include "guest/inspect.h"
#include "guest/libvirt_error.h"

struct start_state {
    struct guest guest; /* the one that comes of it */
    char *xml;          /* of the domain that is to run */
    bool paused;
    char *file; /* of a saved guest */
    char *out;  /* the saved domain's XML, or that of the one that runs */
    int run;    /* out */
};

static void clear_start(void *state)
{
    struct start_state *start = state;
    free(start->xml);
    free(start->file);
    free(start->out);
}

static struct start_state *new_start(const struct guest *guest, char *xml, const char *file)
{
    struct start_state *start = call_new(sizeof *start, clear_start);
    start->guest = guest_any_run(guest->hypervisor, guest->uuid);
    start->xml = xml;
    start->file = text_copy(file);
    return start;
}

/*
 * On the worker: reads which run it is and the XML of a domain that has just begun to run. The domain is
 * destroyed when the caller has given up, for nobody else would ever end it, and when its XML cannot be had.
 */
static int read_started(virDomainPtr domain, struct start_state *start, struct error *err)
{
    start->run = (int)virDomainGetID(domain);
    if (call_abandoned(start)) {
        virDomainDestroy(domain);
        return error_set(err, ERROR_HYPERVISOR, "the guest started too late and was destroyed");
    }
    start->out = virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_SECURE);
    if (start->out)
        return 0;
    libvirt_error(ERROR_HYPERVISOR, err, "cannot read the started guest's XML back");
    virDomainDestroy(domain);
    return -1;
}

/* Notes the run, and destroys the guest when it is not what spec asks for. */
static int inspect_started(struct guest *guest, const struct guest_spec *spec,
                           const struct start_state *start, int64_t timeout_ms, struct error *err)
{
    guest->run = start->run;
    if (domain_inspect(start->out, spec, err) == 0)
        return 0;
    log_error("guest", "%s is not what was asked for and is destroyed: %s", spec->name, err->text);
    struct error second = ERROR_INIT;
    if (guest_destroy(guest, timeout_ms, &second) < 0)
        log_error("guest", "%s", second.text);
    return -1;
}

/* --- from nothing ---------------------------------------------------------------------------------- */

static int create_domain(virConnectPtr connection, void *state, struct error *err)
{
    struct start_state *start = state;
    unsigned flags = VIR_DOMAIN_START_VALIDATE | (start->paused ? VIR_DOMAIN_START_PAUSED : 0);
    CLEANUP_DOMAIN virDomainPtr domain = virDomainCreateXML(connection, start->xml, flags);
    if (!domain)
        return libvirt_error(ERROR_GUEST_FAILED, err, "cannot start the guest");
    return read_started(domain, start, err);
}

int guest_start(struct guest *guest, const struct guest_spec *spec, bool paused, int64_t timeout_ms,
                struct error *err)
{
    CLEANUP_CALL struct start_state *start = new_start(guest, domain_xml_render(spec), NULL);
    start->paused = paused;
    if (call_hypervisor(guest->hypervisor, "start the guest", create_domain, start, timeout_ms, err) < 0)
        return -1;
    return inspect_started(guest, spec, start, timeout_ms, err);
}

/* --- from a saved state ---------------------------------------------------------------------------- */

static int read_saved(virConnectPtr connection, void *state, struct error *err)
{
    struct start_state *start = state;
    start->out = virDomainSaveImageGetXMLDesc(connection, start->file, VIR_DOMAIN_SAVE_IMAGE_XML_SECURE);
    return start->out ? 0
                      : libvirt_error(ERROR_GUEST_FAILED, err, "cannot read the saved guest %s", start->file);
}

static int restore_domain(virConnectPtr connection, void *state, struct error *err)
{
    struct start_state *start = state;
    if (virDomainRestoreFlags(connection, start->file, start->xml, VIR_DOMAIN_SAVE_RUNNING) < 0)
        return libvirt_error(ERROR_GUEST_FAILED, err, "cannot restore the guest from %s", start->file);
    CLEANUP_DOMAIN virDomainPtr domain = call_domain(connection, &start->guest, err);
    if (!domain) {
        error_recode(err, ERROR_GUEST_FAILED);
        return error_prefix(err, "the guest stopped as soon as it was restored");
    }
    return read_started(domain, start, err);
}

/* The XML to restore with, inspected: a state that was tampered with shall not even start a program. *Owned*.
 */
static char *edit_saved(const struct guest *guest, const struct guest_spec *spec, const char *file,
                        int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL struct start_state *start = new_start(guest, NULL, file);
    if (call_hypervisor(guest->hypervisor, "read the saved guest", read_saved, start, timeout_ms, err) < 0)
        return NULL;
    CLEANUP_FREE char *xml = domain_xml_edit(start->out, spec, err);
    if (xml && domain_inspect(xml, spec, err) == 0)
        return TAKE(xml);
    error_recode(err, ERROR_GUEST_FAILED);
    error_prefix(err, "the saved guest %s is not to be restored", file);
    return NULL;
}

int guest_restore(struct guest *guest, const struct guest_spec *spec, const char *file, int64_t timeout_ms,
                  struct error *err)
{
    int64_t deadline_ms = clock_deadline(timeout_ms);
    HYPERVISOR_HOLD_SCOPE(guest->hypervisor); /* two calls */
    char *xml = edit_saved(guest, spec, file, timeout_ms, err);
    if (!xml)
        return -1;
    CLEANUP_CALL struct start_state *start = new_start(guest, xml, file);
    if (call_hypervisor(guest->hypervisor, "restore the guest", restore_domain, start,
                        clock_left_ms(deadline_ms), err) < 0)
        return -1;
    return inspect_started(guest, spec, start, timeout_ms, err);
}
