#include "http/routes_screen.h"

#include "http/http_context.h"
#include "web/screen_answers.h"

static int get_screenshot(struct exchange *exchange, struct error *err)
{
    struct picture_request request;
    if (screen_decode_screenshot(exchange, &request, err) < 0)
        return -1;
    struct picture *picture = leases_screenshot(http_context(exchange)->leases, exchange->id,
                                                &exchange->grant, &request, exchange_cancel(exchange), err);
    return picture ? screen_answer_screenshot(exchange, &request, picture) : -1;
}

static int post_actions(struct exchange *exchange, struct error *err)
{
    struct leases *leases = http_context(exchange)->leases;
    struct lease_document lease;
    CLEANUP_SCREEN_ACTIONS struct screen_actions asked = {0};
    struct display_acted acted = {0};
    /* that there is no such lease comes before any word on the body */
    if (leases_get(leases, exchange->id, &exchange->grant, &lease, err) < 0 ||
        screen_decode_actions(exchange, &asked, err) < 0)
        return -1;
    if (leases_act(leases, exchange->id, &exchange->grant, &asked.act, exchange_cancel(exchange), &acted,
                   err) < 0)
        return screen_refuse_actions(exchange, &asked, &acted, err);
    return screen_answer_actions(exchange, &asked, &acted);
}

const struct route routes_screen[] = {
    {"GET", "/v1/leases/{id}/screenshot", AUTH_LEASE, get_screenshot},
    {"POST", "/v1/leases/{id}/actions", AUTH_LEASE, post_actions},
    {0},
};
