/* /v1/leases/{id}/screenshot and /v1/leases/{id}/actions */
#include "http/routes.h"
#include "web/screen_answers.h"

static struct picture *look(void *context, const struct picture_request *request, struct cancel *cancel,
                            struct error *err)
{
    const struct exchange *exchange = context;
    return leases_look(http_context(exchange)->leases, exchange->id, &exchange->grant, request, cancel, err);
}

static int act(void *context, const struct display_request *request, struct cancel *cancel,
               struct display_outcome *outcome, struct error *err)
{
    const struct exchange *exchange = context;
    return leases_perform(http_context(exchange)->leases, exchange->id, &exchange->grant, request, cancel,
                          outcome, err);
}

static int changes(void *context, uint64_t since, struct display_changes *changes, struct error *err)
{
    const struct exchange *exchange = context;
    return leases_changes(http_context(exchange)->leases, exchange->id, &exchange->grant, since, changes,
                          err);
}

static struct screen_target target_of(struct exchange *exchange)
{
    return (struct screen_target){.context = exchange, .look = look, .act = act, .changes = changes};
}

static int screenshot(struct exchange *exchange, struct error *err)
{
    struct screen_target target = target_of(exchange);
    return screen_answer_picture(exchange, &target, err);
}

static int actions(struct exchange *exchange, struct error *err)
{
    struct screen_target target = target_of(exchange);
    struct lease_document lease;
    /* that there is no such lease comes before any word on the body */
    if (leases_get(http_context(exchange)->leases, exchange->id, &exchange->grant, &lease, err) < 0)
        return -1;
    return screen_answer_actions(exchange, &target, err);
}

const struct route routes_screen[] = {
    {"GET", "/v1/leases/{id}/screenshot", AUTH_LEASE, screenshot},
    {"POST", "/v1/leases/{id}/actions", AUTH_LEASE, actions},
    {0},
};
