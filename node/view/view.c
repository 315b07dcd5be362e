#include "view/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/sync.h"
#include "base/text.h"
#include "view/routes_view.h"
#include "view/view_inside.h"

/* A page holds a few connections open; with eight viewers and what else looks on. */
enum { CONNECTIONS_MAX = 96, STRANGERS_MAX = 80, STRANGER_MAX = 48, ANSWERS_MS = 1000 };

/* For the viewers to be told of the end: with what follows, an end takes two seconds at most. */
enum { FAREWELL_MS = 1600 };

static void free_view(struct view *view)
{
    pthread_cond_destroy(&view->answered);
    pthread_mutex_destroy(&view->mutex);
    audience_free(view->audience);
    tickets_free(view->tickets);
    assets_free(view->assets);
    free(view->lease_id);
    free(view);
}

struct view *view_open(const struct view_options *options, struct error *err)
{
    static const struct route *const tables[] = {routes_view, NULL};
    struct view *view = memory_new(sizeof *view);
    view->options = *options;
    pthread_mutex_init(&view->mutex, NULL);
    sync_cond_init(&view->answered);
    view->lease_id = text_copy(options->lease_id);
    snprintf(view->owner, sizeof view->owner, "%s", options->owner);
    view->assets = assets_open(options->assets);
    view->tickets = tickets_new();
    view->audience = audience_new();
    struct web_options web = {
        .bind = "127.0.0.1",
        .tables = tables,
        .large = "/action",
        .landing = "/",
        .context = view,
        .connections_max = CONNECTIONS_MAX,
        .strangers_max = STRANGERS_MAX,
        .stranger_max = STRANGER_MAX,
        .peers = options->peers,
        .upgrades = true,
        .authorize = routes_authorize,
        .completed = routes_completed,
    };
    view->server = web_server_start(&web, err);
    if (view->server)
        return view;
    error_prefix(err, "cannot open the guest view");
    free_view(view);
    return NULL;
}

uint16_t view_port(const struct view *view)
{
    return web_server_port(view->server);
}

void view_ticket(struct view *view, enum view_mode mode, const char *grant, char ticket[VIEW_SECRET_SIZE])
{
    struct pass pass = {.mode = mode};
    snprintf(pass.grant, sizeof pass.grant, "%s", grant);
    tickets_issue(view->tickets, &pass, clock_monotonic_ms(), ticket);
}

void view_revoke(struct view *view, const char *grant)
{
    tickets_revoke(view->tickets, grant);
    audience_dismiss(view->audience, grant, CLOSE_REVOKED, "access was revoked");
}

void view_end(struct view *view, enum view_end why)
{
    bool stopping = why == VIEW_NODE_STOPPING;
    web_server_quiesce(view->server);
    audience_dismiss(view->audience, NULL, stopping ? CLOSE_NODE_STOPPING : CLOSE_LEASE_ENDED,
                     stopping ? "the node is stopping" : "the lease has ended");
    audience_drain(view->audience, clock_deadline(FAREWELL_MS));
}

/* Stopping the server cuts answers off that are on their way. */
static void await_answers(struct view *view)
{
    int64_t deadline_ms = clock_deadline(ANSWERS_MS);
    LOCK_SCOPE(&view->mutex);
    while (view->requests > 0)
        if (!sync_cond_wait(&view->answered, &view->mutex, deadline_ms))
            return;
}

void view_free(struct view *view)
{
    await_answers(view);
    web_server_stop(view->server);
    free_view(view);
}
