/* The guest view of a lease: what it may do with the lease, and when it is there. */
#include <stdlib.h>
#include <string.h>

#include "guest/guest.h"
#include "lease/berth.h"

enum { OPEN_TIMEOUT_MS = 5000 };

/* Who may use the view is the view's to say; the lease itself is named by its id. */
static const struct pairing_grant everybody = {.capabilities = CAPABILITY_OPERATOR};

static struct picture *take_screenshot(void *context, const struct picture_request *request,
                                       struct cancel *cancel, struct error *err)
{
    const struct berth_view *view = context;
    return leases_screenshot(view->berth->leases, view->id, &everybody, request, cancel, err);
}

static int act_on_guest(void *context, const struct display_act *act, struct cancel *cancel,
                        struct display_acted *acted, struct error *err)
{
    const struct berth_view *view = context;
    return leases_act(view->berth->leases, view->id, &everybody, act, cancel, acted, err);
}

static int open_display(void *context, struct error *err)
{
    const struct berth_view *view = context;
    struct lease_document lease;
    if (leases_get(view->berth->leases, view->id, &everybody, &lease, err) < 0)
        return -1;
    return guest_open_display(&view->guest, OPEN_TIMEOUT_MS, err);
}

static void witness(void *context, const char *grant, enum view_mode mode, const char *reason)
{
    const struct berth_view *view = context;
    json_t *fields =
        json_pack("{s:s, s:s, s:s}", "lease", view->id, "pairing", grant, "mode", view_mode_word(mode));
    if (reason)
        json_object_set_new(fields, "reason", json_string(reason));
    audit_write(view->berth->leases->options.audit, reason ? "view_close" : "view_open", fields);
}

struct berth_view *berth_view_open(struct berth *berth, const struct journal_record *record,
                                   int64_t expires_boot_ms, struct error *err)
{
    struct leases *leases = berth->leases;
    struct berth_view *view = calloc(1, sizeof *view);
    if (!view) {
        error_set(err, ERROR_INTERNAL, "cannot open the guest view: out of memory");
        return NULL;
    }
    view->berth = berth;
    view->guest = berth_guest_now(berth);
    memcpy(view->id, record->id, sizeof view->id);
    view->view = view_open(
        &(struct view_options){
            .lease_id = record->id,
            .owner = record->owner,
            .expires_ms = record->expires_ms,
            .expires_boot_ms = expires_boot_ms,
            .assets = leases->options.view_assets,
            .pairing = leases->options.pairing,
            .holds = berth->holds,
            .screenshot = take_screenshot,
            .act = act_on_guest,
            .open_display = open_display,
            .witness = witness,
            .context = view,
        },
        err);
    if (view->view)
        return view;
    free(view);
    return NULL;
}

void berth_view_end(struct berth_view *view, enum lease_reason reason)
{
    if (view)
        view_end(view->view, reason == REASON_OPERATOR ? VIEW_NODE_STOPPING : VIEW_LEASE_ENDED);
}

void berth_view_free(struct berth_view *view)
{
    if (!view)
        return;
    view_free(view->view);
    free(view);
}
