#include "lease/leases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "base/sync.h"
#include "base/text.h"
#include "doctor/fits.h"
#include "guest/guest.h"
#include "lease/berth.h"

/* How long a create waits for a berth that is being freed: a guest is gone within a second, usually. */
enum { BERTHS_MAX = 64, ENDING_WAIT_MS = 10000 };

/* --- opening and closing --------------------------------------------------------------------------- */

static void on_guest_gone(void *context, const char *uuid)
{
    struct leases *leases = context;
    for (size_t i = 0; i < leases->count; i++)
        if (strcmp(leases->berths[i].uuid, uuid) == 0)
            keeper_wake(leases);
}

/* As many as are offered, and more while leases of a time with more of them go on. */
static size_t count_berths(struct leases *leases)
{
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t found = 0, count = leases->offered;
    if (journal_unfinished(&leases->journal, &records, &found, &ignored) < 0)
        return count; /* the recovery will say why */
    for (size_t i = 0; i < found; i++)
        if (records[i].state == JOURNAL_LIVE && records[i].berth < BERTHS_MAX &&
            (size_t)records[i].berth >= count)
            count = (size_t)records[i].berth + 1;
    return count;
}

static void on_guest_paused(void *context, const char *uuid, const char *why)
{
    struct leases *leases = context;
    for (size_t i = 0; i < leases->count; i++)
        if (strcmp(leases->berths[i].uuid, uuid) == 0)
            berth_set_paused(&leases->berths[i], why);
}

static int open_berths(struct leases *leases, struct error *err)
{
    const struct config *config = leases->options.config;
    CLEANUP_FREE char *overlays = file_join(config->state_dir, "overlays");
    /* 0711: QEMU's user must pass through, and nobody needs to list it */
    if (file_make_folder(config->state_dir, 0711, err) < 0 || file_make_folder(overlays, 0711, err) < 0)
        return -1;
    leases->offered = (size_t)config->berths;
    leases->count = count_berths(leases);
    leases->berths = calloc(leases->count, sizeof *leases->berths);
    if (!leases->berths)
        return error_set(err, ERROR_INTERNAL, "cannot make %zu berths: out of memory", leases->count);
    for (size_t i = 0; i < leases->count; i++) {
        struct berth *berth = &leases->berths[i];
        berth->n = (int)i;
        guest_name(leases->options.node_id, berth->n, berth->name);
        guest_uuid(leases->options.node_id, berth->n, berth->uuid);
        berth->overlay = text_format("%s/%s.qcow2", overlays, berth->name);
        berth->console_log = text_format("%s/%s.console.log", overlays, berth->name);
        berth->holds = holds_new();
        berth->expires_boot_ms = CLOCK_NEVER;
        pthread_mutex_init(&berth->mutex, NULL);
        sync_cond_init(&berth->changed);
        berth_enter(berth, BERTH_EMPTY, NULL);
    }
    return 0;
}

struct leases *leases_open(const struct leases_options *options, struct error *err)
{
    struct leases *leases = calloc(1, sizeof *leases);
    if (!leases) {
        error_set(err, ERROR_INTERNAL, "cannot open the leases: out of memory");
        return NULL;
    }
    leases->options = *options;
    leases->parked = true;
    pthread_mutex_init(&leases->mutex, NULL);
    sync_cond_init(&leases->keeper_wake);
    if (journal_open(&leases->journal, options->config->home, err) < 0 || open_berths(leases, err) < 0 ||
        leases_recover(leases, err) < 0 || keeper_start(leases, err) < 0) {
        for (size_t i = 0; i < leases->count; i++) /* what was adopted waits for a better start */
            berth_leave_standing(leases, &leases->berths[i]);
        leases_close(leases);
        return NULL;
    }
    struct guest_watcher watcher = {leases, on_guest_gone, on_guest_paused};
    guest_watch(options->hypervisor, &watcher);
    return leases;
}

bool leases_left(const char *home)
{
    struct journal journal;
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t count = 0, live = 0;
    if (journal_open(&journal, home, &ignored) < 0)
        return false;
    if (journal_unfinished(&journal, &records, &count, &ignored) == 0)
        for (size_t i = 0; i < count; i++)
            live += records[i].state == JOURNAL_LIVE;
    journal_close(&journal);
    return live > 0;
}

/*
 * Makes a create that is under way give up: its guest is taken from under it. id: of the lease that is being
 * made, or NULL for whichever it is. Returns when it has, true when there was one to cancel.
 */
static bool cancel_create(struct leases *leases, struct berth *berth, const char *id)
{
    struct error ignored = ERROR_INIT;
    pthread_mutex_lock(&berth->mutex);
    bool preparing = berth->state == BERTH_PREPARING && (!id || strcmp(berth->record.id, id) == 0);
    berth->cancelled |= preparing;
    pthread_mutex_unlock(&berth->mutex);
    bool cancelled = preparing;
    while (preparing) {
        guest_destroy(leases->options.hypervisor, berth->uuid, 20000, &ignored);
        LOCK_SCOPE(&berth->mutex);
        if (berth->state == BERTH_PREPARING)
            sync_cond_wait(&berth->changed, &berth->mutex, clock_deadline(200));
        preparing = berth->state == BERTH_PREPARING;
        cancelled = berth->cancelled; /* false: it was live before it could be told */
    }
    return cancelled;
}

/* A lease whose end was asked for and has not finished is no longer one to leave standing. */
static bool berth_is_ending(struct berth *berth)
{
    LOCK_SCOPE(&berth->mutex);
    return berth->state == BERTH_ENDING;
}

void leases_stop(struct leases *leases, bool end_leases)
{
    pthread_mutex_lock(&leases->mutex);
    leases->stopping = true;
    pthread_cond_signal(&leases->keeper_wake);
    pthread_mutex_unlock(&leases->mutex);
    if (leases->keeper_started)
        pthread_join(leases->keeper, NULL);
    leases->keeper_started = false;
    for (size_t i = 0; i < leases->count; i++) {
        struct berth *berth = &leases->berths[i];
        struct lease_receipt receipt;
        struct error err = ERROR_INIT;
        cancel_create(leases, berth, NULL);
        pthread_mutex_lock(&berth->mutex);
        bool held = berth->state == BERTH_LEASED || berth->state == BERTH_ENDING;
        bool undone = held && berth->record.state == JOURNAL_CREATING;
        char id[LEASE_ID_SIZE];
        memcpy(id, berth->record.id, sizeof id);
        pthread_mutex_unlock(&berth->mutex);
        if (undone) {
            berth_undo(leases, berth, NULL);
            continue;
        }
        if (held && !end_leases) {
            berth_leave_standing(leases, berth);
            held = berth_is_ending(berth);
        }
        if (held && berth_end(leases, berth, id, REASON_OPERATOR, &receipt, &err) < 0)
            log_error("lease", "%s; the next start of the node finishes it", err.text);
    }
}

void leases_close(struct leases *leases)
{
    guest_watch(leases->options.hypervisor, NULL);
    for (size_t i = 0; i < leases->count; i++) {
        holds_free(leases->berths[i].holds);
        free(leases->berths[i].overlay);
        free(leases->berths[i].console_log);
        pthread_cond_destroy(&leases->berths[i].changed);
        pthread_mutex_destroy(&leases->berths[i].mutex);
    }
    free(leases->berths);
    journal_close(&leases->journal);
    pthread_cond_destroy(&leases->keeper_wake);
    pthread_mutex_destroy(&leases->mutex);
    free(leases);
}

/* --- parked ---------------------------------------------------------------------------------------- */

bool leases_parked(struct leases *leases)
{
    LOCK_SCOPE(&leases->mutex);
    return leases->parked;
}

void leases_park(struct leases *leases)
{
    LOCK_SCOPE(&leases->mutex);
    leases->parked = true;
}

/* With leases.mutex held. */
static bool any_busy(struct leases *leases)
{
    for (size_t i = 0; i < leases->count; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        enum berth_state state = leases->berths[i].state;
        if (state == BERTH_PREPARING || state == BERTH_LEASED || state == BERTH_ENDING)
            return true;
    }
    return false;
}

int leases_unpark(struct leases *leases, struct error *err)
{
    LOCK_SCOPE(&leases->mutex);
    if (any_busy(leases))
        return error_set(err, ERROR_LEASE_LIVE, "a lease is live; end it first, then unpark");
    leases->parked = false;
    return 0;
}

/* --- create ---------------------------------------------------------------------------------------- */

/* With leases.mutex held: an empty berth, or NULL. */
static struct berth *find_empty(struct leases *leases)
{
    for (size_t i = 0; i < leases->offered; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].state == BERTH_EMPTY || leases->berths[i].state == BERTH_FAILED)
            return &leases->berths[i];
    }
    return NULL;
}

static int64_t given(int64_t value, int64_t otherwise)
{
    return value == -1 ? otherwise : value;
}

/* With leases.mutex held: a berth whose guest is about to be gone, or NULL. */
static struct berth *find_ending(struct leases *leases)
{
    for (size_t i = 0; i < leases->offered; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].state == BERTH_ENDING)
            return &leases->berths[i];
    }
    return NULL;
}

/*
 * Takes a berth for a create; its record then belongs to this thread. With none free, *ending is one that
 * will be free soon, or NULL.
 */
static struct berth *try_berth(struct leases *leases, struct berth **ending, struct error *err)
{
    *ending = NULL;
    LOCK_SCOPE(&leases->mutex);
    if (!leases->parked || leases->stopping) {
        error_set(err, ERROR_UNPARKED,
                  "the node accepts no new leases now; its operator can change that: berth park");
        return NULL;
    }
    struct berth *berth = find_empty(leases);
    if (!berth) {
        *ending = find_ending(leases);
        error_set(err, ERROR_LEASE_LIVE, "every berth of this node is taken by a lease; %s",
                  *ending ? "one is being ended: ask again in some seconds" : "end it or wait");
        return NULL;
    }
    LOCK_SCOPE(&berth->mutex);
    berth->record = (struct journal_record){.state = JOURNAL_CREATING, .berth = berth->n};
    berth->cancelled = false;
    berth->paused = NULL;
    berth->reason[0] = '\0';
    hypervisor_hold(leases->options.hypervisor); /* until the berth is empty again */
    berth_enter(berth, BERTH_PREPARING, "define");
    return berth;
}

/* As try_berth(); a lease that is being ended is waited for, for a while. */
static struct berth *take_berth(struct leases *leases, struct error *err)
{
    int64_t deadline_ms = clock_deadline(ENDING_WAIT_MS);
    for (;;) {
        struct berth *ending;
        struct berth *berth = try_berth(leases, &ending, err);
        if (berth || !ending || clock_left_ms(deadline_ms) == 0)
            return berth;
        LOCK_SCOPE(&ending->mutex);
        while (ending->state == BERTH_ENDING)
            if (!sync_cond_wait(&ending->changed, &ending->mutex, deadline_ms))
                break;
    }
}

/* The checks that come after "is a berth free" in CONTRACT.md section 3; fills the record when they pass. */
static int fill_record(struct leases *leases, struct berth *berth, const struct lease_request *request,
                       const struct pairing_grant *grant, struct error *err)
{
    const struct config *config = leases->options.config;
    struct lease_shape shape = {given(request->vcpu, config->vcpu), given(request->mem_gib, config->mem_gib),
                                given(request->disk_gib, config->disk_gib)};
    if (lease_request_check(request, err) < 0 ||
        doctor_shape_fits(config, leases->options.hypervisor, &shape, err) < 0)
        return -1;
    LOCK_SCOPE(&berth->mutex);
    struct journal_record *record = &berth->record;
    record->shape = shape;
    memcpy(record->id, "l_", 2);
    random_hex(record->id + 2, 16);
    memcpy(record->uuid, berth->uuid, sizeof record->uuid);
    memcpy(record->owner, grant->id, sizeof record->owner);
    return 0;
}

static void describe(const struct berth *berth, struct lease_document *lease)
{
    const struct journal_record *record = &berth->record;
    *lease = (struct lease_document){
        .live = true,
        .shape = record->shape,
        .started_ms = record->started_ms,
        .expires_ms = record->expires_ms,
        .viewer_port = berth->view ? view_port(berth->view->view) : 0,
    };
    memcpy(lease->id, record->id, sizeof lease->id);
}

/* The berth's guest is usable: from here on it is a lease. */
static int go_live(struct leases *leases, struct berth *berth, const struct lease_request *request,
                   struct display *display, struct error *err)
{
    int64_t max_s = leases->options.config->max_lease_seconds;
    int64_t ttl_s = given(request->ttl_seconds, max_s ? max_s : -1);
    if (max_s && ttl_s > max_s)
        ttl_s = max_s;
    struct journal_record record = berth->record; /* ours alone while preparing */
    int64_t now_boot_ms = clock_boottime_ms();
    record.state = JOURNAL_LIVE;
    record.started_ms = clock_realtime_ms();
    record.expires_ms = ttl_s < 0 ? 0 : record.started_ms + ttl_s * 1000;
    journal_stamp(&record);
    int64_t expires_boot_ms = ttl_s < 0 ? CLOCK_NEVER : now_boot_ms + ttl_s * 1000;
    struct berth_view *view = berth_view_open(leases, berth, &record, expires_boot_ms, err);
    if (!view || journal_write(&leases->journal, &record, err) < 0) {
        berth_view_end(view, REASON_GRACEFUL);
        berth_view_free(view);
        return -1;
    }
    LOCK_SCOPE(&berth->mutex);
    berth->record = record;
    berth->since_boot_ms = now_boot_ms;
    berth->expires_boot_ms = expires_boot_ms;
    berth->display = display;
    display_set_paused(display, berth->paused); /* an event while it was not the berth's yet */
    berth->view = view;
    berth_enter(berth, BERTH_LEASED, NULL);
    return 0;
}

int leases_create(struct leases *leases, const struct lease_request *request,
                  const struct pairing_grant *grant, struct lease_document *lease, struct error *err)
{
    struct eligibility_answer report;
    eligibility_check(leases->options.eligibility, &report);
    json_decref(report.document);
    if (!report.ok)
        return error_set(err, ERROR_INELIGIBLE, "this node is not eligible now (%s)", report.why);
    struct berth *berth = take_berth(leases, err);
    if (!berth)
        return -1;
    if (fill_record(leases, berth, request, grant, err) < 0) {
        berth_leave(leases, berth, BERTH_EMPTY);
        return -1;
    }

    struct display *display = NULL;
    fault_point("create.taken");
    int made = journal_write(&leases->journal, &berth->record, err);
    fault_point("create.journalled");
    if (made == 0)
        made = berth_bring_up(leases, berth, &display, err);
    if (made == 0)
        made = go_live(leases, berth, request, display, err);
    if (made < 0 && display) {
        display_shutdown(display);
        display_close(display);
    }
    if (made < 0) {
        log_warning("lease", "%s was not created: %s", berth->record.id, err->text);
        berth_undo(leases, berth, err->text);
        keeper_wake(leases); /* to go on trying, where something of it is left */
        return -1;
    }
    fault_point("create.live");
    pthread_mutex_lock(&berth->mutex);
    describe(berth, lease);
    pthread_mutex_unlock(&berth->mutex);
    log_info("lease", "%s is live", lease->id);
    audit_write(leases->options.audit, "lease_live",
                json_pack("{s:s, s:s, s:I, s:I, s:I}", "lease", lease->id, "pairing", grant->id, "vcpu",
                          (json_int_t)lease->shape.vcpu, "mem_gib", (json_int_t)lease->shape.mem_gib,
                          "disk_gib", (json_int_t)lease->shape.disk_gib));
    keeper_wake(leases);
    return 0;
}

/* --- looking up ------------------------------------------------------------------------------------ */

static bool may_reach(const struct journal_record *record, const struct pairing_grant *grant)
{
    return (grant->capabilities & CAPABILITY_OPERATOR) || strcmp(record->owner, grant->id) == 0;
}

static int no_such_lease(struct error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "there is no live lease of this id");
}

/* The berth whose lease has this id, with its mutex held; NULL when there is none that the grant reaches. */
static struct berth *lock_berth(struct leases *leases, const char *id, const struct pairing_grant *grant)
{
    for (size_t i = 0; i < leases->count; i++) {
        struct berth *berth = &leases->berths[i];
        pthread_mutex_lock(&berth->mutex);
        if ((berth->state == BERTH_LEASED || berth->state == BERTH_ENDING) &&
            berth->record.state != JOURNAL_CREATING && strcmp(berth->record.id, id) == 0 &&
            may_reach(&berth->record, grant))
            return berth;
        pthread_mutex_unlock(&berth->mutex);
    }
    return NULL;
}

/* The same for a lease that is being made and that nobody was told of but by /v1/node. */
static struct berth *lock_making(struct leases *leases, const char *id, const struct pairing_grant *grant)
{
    for (size_t i = 0; i < leases->count; i++) {
        struct berth *berth = &leases->berths[i];
        pthread_mutex_lock(&berth->mutex);
        if (berth->state == BERTH_PREPARING && strcmp(berth->record.id, id) == 0 &&
            may_reach(&berth->record, grant))
            return berth;
        pthread_mutex_unlock(&berth->mutex);
    }
    return NULL;
}

int leases_get(struct leases *leases, const char *id, const struct pairing_grant *grant,
               struct lease_document *lease, struct error *err)
{
    struct berth *berth = lock_berth(leases, id, grant);
    bool live = berth && berth->state == BERTH_LEASED;
    if (live)
        describe(berth, lease);
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    return live ? 0 : no_such_lease(err);
}

size_t leases_list(struct leases *leases, const struct pairing_grant *grant, struct lease_document *list,
                   size_t max)
{
    size_t used = 0;
    for (size_t i = 0; i < leases->count && used < max; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].state == BERTH_LEASED && may_reach(&leases->berths[i].record, grant))
            describe(&leases->berths[i], &list[used++]);
    }
    return used;
}

static void describe_record(const struct journal_record *record, struct lease_document *lease)
{
    bool live = record->state == JOURNAL_LIVE;
    *lease = (struct lease_document){
        .live = live,
        .shape = record->shape,
        .started_ms = record->started_ms,
        .ended_ms = live ? 0 : record->ended_ms,
        .expires_ms = record->expires_ms,
        .reason = live ? NULL : lease_reason_word(record->reason),
    };
    memcpy(lease->id, record->id, sizeof lease->id);
}

int leases_history(struct leases *leases, const struct pairing_grant *grant, size_t max,
                   struct lease_document **list, size_t *count, struct error *err)
{
    CLEANUP_FREE struct journal_record *records = NULL;
    size_t found, used = 0;
    if (journal_history(&leases->journal, &records, &found, err) < 0)
        return -1;
    struct lease_document *documents = calloc(found + 1, sizeof *documents);
    if (!documents)
        abort();
    for (size_t i = 0; i < found && used < max; i++)
        if (may_reach(&records[i], grant))
            describe_record(&records[i], &documents[used++]);
    *list = documents;
    *count = used;
    return 0;
}

int leases_receipt(struct leases *leases, const char *id, const struct pairing_grant *grant,
                   struct lease_receipt *receipt, struct error *err)
{
    struct journal_record record;
    if (journal_read(&leases->journal, id, &record, err) < 0)
        return -1;
    if (!may_reach(&record, grant) || record.state != JOURNAL_ENDED)
        return error_set(err, ERROR_NOT_FOUND, "there is no ended lease of this id");
    journal_receipt(&record, receipt);
    return 0;
}

int leases_end(struct leases *leases, const char *id, const struct pairing_grant *grant,
               enum lease_reason reason, struct lease_receipt *receipt, struct error *err)
{
    struct berth *berth = lock_making(leases, id, grant);
    if (berth) {
        pthread_mutex_unlock(&berth->mutex);
        if (cancel_create(leases, berth, id))
            return error_set(
                err, ERROR_NOT_FOUND,
                "the lease was still being made: its create is cancelled, and there is no receipt");
    }
    berth = lock_berth(leases, id, grant);
    if (berth) {
        pthread_mutex_unlock(&berth->mutex);
        if (berth_end(leases, berth, id, reason, receipt, err) == 0)
            return 0;
        if (err->code != ERROR_NOT_FOUND) { /* else another thread has just ended it */
            keeper_wake(leases);            /* to go on trying */
            return -1;
        }
    }
    return leases_receipt(leases, id, grant, receipt, err);
}

int leases_view(struct leases *leases, const char *id, const struct pairing_grant *grant, enum view_mode mode,
                struct leases_ticket *ticket, struct error *err)
{
    struct berth *berth = lock_berth(leases, id, grant);
    bool open = berth && berth->view;
    if (open) {
        ticket->port = view_port(berth->view->view);
        view_ticket(berth->view->view, mode, grant->id, ticket->ticket);
    }
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    return open ? 0 : no_such_lease(err);
}

void leases_revoke(struct leases *leases, const char *grant)
{
    for (size_t i = 0; i < leases->count; i++) {
        LOCK_SCOPE(&leases->berths[i].mutex);
        if (leases->berths[i].view)
            view_revoke(leases->berths[i].view->view, grant);
    }
}

/* --- through the display --------------------------------------------------------------------------- */

/* The live lease's display, kept open until berth_leave_display(). One that was lost is opened again. */
static struct berth *use_display(struct leases *leases, const char *id, const struct pairing_grant *grant,
                                 struct display **display, struct error *err)
{
    struct berth *berth = lock_berth(leases, id, grant);
    bool usable = berth && berth->state == BERTH_LEASED;
    if (usable)
        *display = berth_enter_display(berth);
    if (berth)
        pthread_mutex_unlock(&berth->mutex);
    if (!usable) {
        no_such_lease(err);
        return NULL;
    }
    if (berth_reopen_display(leases, berth, display, err) < 0) {
        berth_leave_display(berth, *display);
        return NULL;
    }
    return berth;
}

struct picture *leases_look(struct leases *leases, const char *id, const struct pairing_grant *grant,
                            const struct picture_request *request, struct cancel *cancel, struct error *err)
{
    struct display *display;
    struct berth *berth = use_display(leases, id, grant, &display, err);
    if (!berth)
        return NULL;
    struct picture *picture = display_look(display, request, cancel, err);
    berth_leave_display(berth, display);
    return picture;
}

int leases_perform(struct leases *leases, const char *id, const struct pairing_grant *grant,
                   const struct display_request *request, struct cancel *cancel,
                   struct display_outcome *outcome, struct error *err)
{
    /* 4,000 characters by keys take 160 s, a wait 300: each action has its own bound, and this is only the
     * backstop */
    enum { ACTION_BACKSTOP_MS = 3600 * 1000 };
    struct display *display;
    struct berth *berth = use_display(leases, id, grant, &display, err);
    if (!berth)
        return -1;
    berth_ask_paused(leases, berth);
    int performed =
        display_perform(display, request, cancel, clock_deadline(ACTION_BACKSTOP_MS), outcome, err);
    berth_leave_display(berth, display);
    return performed;
}

int leases_changes(struct leases *leases, const char *id, const struct pairing_grant *grant, uint64_t since,
                   struct display_changes *changes, struct error *err)
{
    struct display *display;
    struct berth *berth = use_display(leases, id, grant, &display, err);
    if (!berth)
        return -1;
    display_changes(display, since, changes);
    berth_leave_display(berth, display);
    return 0;
}

/* --- status ---------------------------------------------------------------------------------------- */

size_t leases_berths(const struct leases *leases)
{
    return leases->count;
}

void leases_status(struct leases *leases, size_t n, struct berth_status *status)
{
    static const char *const words[] = {
        [BERTH_EMPTY] = "empty",   [BERTH_PREPARING] = "preparing", [BERTH_READY] = "ready",
        [BERTH_LEASED] = "leased", [BERTH_ENDING] = "ending",       [BERTH_FAILED] = "failed",
    };
    struct berth *berth = &leases->berths[n];
    LOCK_SCOPE(&berth->mutex);
    *status = (struct berth_status){
        .state = words[berth->state],
        .phase = berth->phase,
        .since_ms = berth->since_ms,
        .paused = berth->state == BERTH_LEASED ? berth->paused : NULL,
    };
    memcpy(status->reason, berth->reason, sizeof status->reason);
    status->live = berth->state == BERTH_LEASED;
    if (berth->state == BERTH_PREPARING || berth->state == BERTH_LEASED || berth->state == BERTH_ENDING)
        memcpy(status->lease_id, berth->record.id, sizeof status->lease_id);
}
