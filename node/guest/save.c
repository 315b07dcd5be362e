/*
 * A save may be late like every call. So it goes to a file of a name of its own, which belongs to the call's
 * state: whoever lets go of that last removes the file, unless the caller has moved it to its place. A save
 * that ends after its caller gave up so leaves nothing, and cannot meet a later one.
 */
#include "guest/save.h"

#include <errno.h>
#include <libvirt/virterror.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/libvirt_error.h"

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

static int save_domain(virDomainPtr domain, void *state, struct error *err)
{
    const struct save_state *save = state;
    int run = (int)virDomainGetID(domain);
    if (virDomainSaveFlags(domain, save->part, NULL, VIR_DOMAIN_SAVE_RUNNING) < 0)
        return libvirt_error(ERROR_GUEST_FAILED, err, "cannot save the guest to %s", save->part);
    return call_see_gone(domain, run, err);
}

/* Gives the saved file its name. */
static int place_saved(struct save_state *state, const char *path, struct error *err)
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
    if (call_guest(guest, "save the guest", save_domain, state, timeout_ms, err) < 0)
        return -1;
    return place_saved(state, path, err);
}
