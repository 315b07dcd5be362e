/*
 * Saved guests: the end of one as a file, and the start of others from it.
 *
 * A save may be late like every call. So it goes to a file of a name of its own, which belongs to the call's
 * state: whoever lets go of that last removes the file, unless the caller has moved it to its place. A save
 * that ends after its caller gave up so leaves nothing, and cannot meet a later one.
 */
#include <errno.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/domain_xml.h"
#include "guest/guest.h"
#include "guest/inspect.h"
#include "guest/started.h"

/* --- save ------------------------------------------------------------------------------------------ */

struct save_state {
    char *part; /* the file that is written; NULL once it has been moved to its place */
};

static void clear_save(void *state)
{
    struct save_state *save = state;
    if (save->part)
        unlink(save->part);
    free(save->part);
}

static int save(virDomainPtr domain, void *state, struct error *err)
{
    struct save_state *given = state;
    if (virDomainSaveFlags(domain, given->part, NULL, VIR_DOMAIN_SAVE_RUNNING) < 0)
        return call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot save the guest to %s", given->part);
    return call_see_gone(domain, err);
}

/* Gives the saved file its name. */
static int place(struct save_state *state, const char *path, struct error *err)
{
    struct stat info;
    if (lstat(state->part, &info) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot look at the saved guest %s", state->part);
    if (!S_ISREG(info.st_mode) || (info.st_mode & 0177) != 0)
        return error_set(err, ERROR_INTERNAL,
                         "libvirt saved the guest to %s with mode %04o, which others may open: it is removed",
                         state->part, (unsigned)(info.st_mode & 07777));
    if (rename(state->part, path) < 0)
        return error_set_errno(err, ERROR_INTERNAL, errno, "cannot move the saved guest to %s", path);
    free(TAKE(state->part));
    return 0;
}

int guest_save(const struct guest *guest, const char *path, int64_t timeout_ms, struct error *err)
{
    struct stat info;
    char suffix[17];
    if (lstat(path, &info) == 0)
        return error_set(err, ERROR_INTERNAL, "cannot save the guest: there is something at %s already",
                         path);
    CLEANUP_CALL struct save_state *state = call_new(sizeof *state, clear_save);
    random_hex(suffix, sizeof suffix / 2);
    state->part = text_format("%s.%s.part", path, suffix);
    if (call_guest(guest, "save the guest", save, state, timeout_ms, err) < 0)
        return -1;
    return place(state, path, err);
}

/* --- restore --------------------------------------------------------------------------------------- */

struct restore_state {
    struct guest guest;
    char *file;
    char *xml; /* the domain that is to run */
    char *out; /* the saved domain's XML, or the live one's */
    int run;   /* out */
};

static void clear_restore(void *state)
{
    struct restore_state *restore = state;
    free(restore->file);
    free(restore->xml);
    free(restore->out);
}

static struct restore_state *new_restore(const struct guest *guest, const char *file, char *xml)
{
    struct restore_state *state = call_new(sizeof *state, clear_restore);
    state->guest = guest_any_run(guest->hypervisor, guest->uuid); /* the one that comes of it */
    state->file = text_copy(file);
    state->xml = xml;
    return state;
}

static int read_saved(virConnectPtr connection, void *state, struct error *err)
{
    struct restore_state *restore = state;
    restore->out = virDomainSaveImageGetXMLDesc(connection, restore->file, VIR_DOMAIN_SAVE_IMAGE_XML_SECURE);
    return restore->out
               ? 0
               : call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot read the saved guest %s", restore->file);
}

static int restore(virConnectPtr connection, void *state, struct error *err)
{
    struct restore_state *given = state;
    if (virDomainRestoreFlags(connection, given->file, given->xml, VIR_DOMAIN_SAVE_RUNNING) < 0)
        return call_libvirt_error(ERROR_GUEST_FAILED, err, "cannot restore the guest from %s", given->file);
    CLEANUP_DOMAIN virDomainPtr domain = call_domain(connection, &given->guest, err);
    if (!domain) {
        error_recode(err, ERROR_GUEST_FAILED);
        return error_prefix(err, "the guest stopped as soon as it was restored");
    }
    return started_read(domain, state, &given->out, &given->run, err);
}

/* The XML to restore with, inspected: a state that was tampered with shall not even start a program. *Owned*.
 */
static char *xml_for(const struct guest *guest, const struct guest_spec *spec, const char *file,
                     int64_t timeout_ms, struct error *err)
{
    CLEANUP_CALL struct restore_state *state = new_restore(guest, file, NULL);
    if (hypervisor_call(guest->hypervisor, "read the saved guest", read_saved, state, timeout_ms, err) < 0)
        return NULL;
    CLEANUP_FREE char *xml = domain_xml_edit(state->out, spec, err);
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
    char *xml = xml_for(guest, spec, file, timeout_ms, err);
    if (!xml)
        return -1;
    CLEANUP_CALL struct restore_state *state = new_restore(guest, file, xml);
    if (hypervisor_call(guest->hypervisor, "restore the guest", restore, state, clock_left_ms(deadline_ms),
                        err) < 0)
        return -1;
    guest->run = state->run;
    return started_inspect(guest, spec, state->out, timeout_ms, err);
}
