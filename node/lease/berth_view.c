#include "lease/berth_view.h"

#include <string.h>

#include "lease/berth.h"
#include "lease/berth_display.h"
#include "lease/find.h"

/* Who may use the view is the view's to say; the lease itself is named by its id. */
static const struct pairing_grant everybody = {.capabilities = CAPABILITY_OPERATOR};

/* The lease of the berth's view: the berth has no other before the view is gone. */
static const char *copy_id(struct berth *berth, char id[LEASE_ID_SIZE])
{
    LOCK_SCOPE(&berth->mutex);
    return memcpy(id, berth->record.id, LEASE_ID_SIZE);
}

static struct picture *take_screenshot(void *context, const struct picture_request *request,
                                       struct cancel *cancel, struct error *err)
{
    struct berth *berth = context;
    char id[LEASE_ID_SIZE];
    return leases_screenshot(berth->leases, copy_id(berth, id), &everybody, request, cancel, err);
}

static int act_on_guest(void *context, const struct display_act *act, struct cancel *cancel,
                        struct display_acted *acted, struct error *err)
{
    struct berth *berth = context;
    char id[LEASE_ID_SIZE];
    return leases_act(berth->leases, copy_id(berth, id), &everybody, act, cancel, acted, err);
}

static int connect_viewer(void *context, struct error *err)
{
    struct berth *berth = context;
    struct guest guest = berth_guest_now(berth);
    if (berth_state_now(berth) != BERTH_LEASED)
        return leases_no_such(err);
    return guest_open_display(&guest, BERTH_ASK_MS, err);
}

static void audit_viewer(void *context, const char *grant, enum view_mode mode, const char *reason)
{
    struct berth *berth = context;
    char id[LEASE_ID_SIZE];
    json_t *fields = json_pack("{s:s, s:s, s:s}", "lease", copy_id(berth, id), "pairing", grant, "mode",
                               view_mode_word(mode));
    if (reason)
        json_object_set_new(fields, "reason", json_string(reason));
    audit_write_some(berth->leases->audit, AUDIT_VIEWS, reason ? "view_close" : "view_open", fields);
}

int berth_open_view(struct berth *berth, const struct journal_record *record, int64_t expires_boot_ms,
                    struct error *err)
{
    struct view *view = view_open(
        &(struct view_options){
            .lease_id = record->id,
            .owner = record->owner,
            .expires_ms = record->expires_ms,
            .expires_boot_ms = expires_boot_ms,
            .assets = berth->leases->view_assets,
            .peers = berth->leases->peers,
            .pairing = berth->leases->pairing,
            .holds = berth->holds,
            .screenshot = take_screenshot,
            .act = act_on_guest,
            .open_display = connect_viewer,
            .witness = audit_viewer,
            .context = berth,
        },
        err);
    LOCK_SCOPE(&berth->mutex);
    berth->view = view;
    return view ? 0 : -1;
}

void berth_close_screen(struct berth *berth, enum lease_reason reason)
{
    pthread_mutex_lock(&berth->mutex);
    struct view *view = TAKE(berth->view);
    pthread_mutex_unlock(&berth->mutex);
    if (view)
        view_end(view, reason == REASON_OPERATOR ? VIEW_NODE_STOPPING : VIEW_LEASE_ENDED);
    berth_close_display(berth);
    if (view)
        view_free(view);
}

int leases_view(struct leases *leases, const char *id, const struct pairing_grant *grant, enum view_mode mode,
                struct leases_ticket *ticket, struct error *err)
{
    struct berth *berth = leases_lock(leases, id, grant);
    bool open = berth && berth->state == BERTH_LEASED && berth->view;
    if (open) {
        ticket->port = view_port(berth->view);
        view_ticket(berth->view, mode, grant->id, ticket->ticket);
    }
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    return open ? 0 : leases_no_such(err);
}

void leases_revoke(struct leases *leases, const char *grant)
{
    for (size_t i = 0; i < leases->count; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].view)
            view_revoke(leases->berths[i].view, grant);
    }
}
