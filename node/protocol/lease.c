#include "protocol/lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/document.h"
#include "base/text.h"

const char *const lease_reason_words[REASON_COUNT + 1] = {
    [REASON_GRACEFUL] = "graceful",
    [REASON_EXPIRED] = "expired",
    [REASON_GUEST_DIED] = "guest_died",
    [REASON_OPERATOR] = "operator",
};

const char *lease_reason_word(enum lease_reason reason)
{
    return (unsigned)reason < REASON_COUNT ? lease_reason_words[reason] : "unknown";
}

bool lease_id_valid(const char *id)
{
    return text_starts(id, "l_") && text_is_hex(id + 2, LEASE_ID_SIZE - 3);
}

int lease_request_decode(const json_t *body, struct lease_request *request, struct error *err)
{
    static const char *const fields[] = {"os", "vcpu", "mem_gib", "disk_gib", "ttl_seconds", NULL};
    *request = (struct lease_request){.vcpu = -1, .mem_gib = -1, .disk_gib = -1, .ttl_seconds = -1};
    const struct {
        const char *key;
        int64_t *value;
    } numbers[] = {{"vcpu", &request->vcpu},
                   {"mem_gib", &request->mem_gib},
                   {"disk_gib", &request->disk_gib},
                   {"ttl_seconds", &request->ttl_seconds}};
    if (document_keys(body, fields, err) < 0 || document_string(body, "os", &request->os, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        /* -1 stands for "not given" from here on, so a -1 that was given becomes the as absurd -2. */
        if (document_maybe_integer(body, numbers[i].key, INT64_MIN, INT64_MAX, numbers[i].value, err) < 0)
            return -1;
        if (json_object_get(body, numbers[i].key) && *numbers[i].value == -1)
            *numbers[i].value = -2;
    }
    return 0;
}

static int check_bound(const char *name, int64_t value, int64_t max, struct error *err)
{
    if (value == -1 || (value >= 1 && value <= max))
        return 0;
    return error_set(err, ERROR_BAD_SHAPE, "\"%s\" must be from 1 to %" PRId64 " where it is given", name,
                     max);
}

int lease_request_check(const struct lease_request *request, struct error *err)
{
    if (strcmp(request->os, "linux") != 0)
        return error_set(err, ERROR_OS_REFUSED,
                         "this node leases linux guests only; ask for {\"os\":\"linux\"}");
    if (check_bound("vcpu", request->vcpu, 64, err) < 0 ||
        check_bound("mem_gib", request->mem_gib, 512, err) < 0 ||
        check_bound("disk_gib", request->disk_gib, 4096, err) < 0 ||
        check_bound("ttl_seconds", request->ttl_seconds, LEASE_MAX_SECONDS, err) < 0)
        return -1;
    return 0;
}

json_t *protocol_settlement(void)
{
    return json_pack("{s:b, s:s}", "charged_here", 0, "note",
                     "nothing is charged by this node; the notional figures are for a market to use");
}

static json_t *quote_encode(const struct lease_shape *shape)
{
    char rate[32];
    snprintf(rate, sizeof rate, "%d.%03d", LEASE_RATE_MICRO_USD_PER_HOUR / 1000000,
             LEASE_RATE_MICRO_USD_PER_HOUR / 1000 % 1000);
    return json_pack("{s:I, s:I, s:I, s:s, s:s, s:i, s:s, s:s, s:o}", "vcpu", (json_int_t)shape->vcpu,
                     "mem_gib", (json_int_t)shape->mem_gib, "disk_gib", (json_int_t)shape->disk_gib, "os",
                     "linux", "density", "isolated", "min_seconds", LEASE_MIN_SECONDS, "occupancy_unit",
                     "seconds", "notional_usd_per_hour", rate, "settlement", protocol_settlement());
}

static void put_time(json_t *object, const char *key, int64_t realtime_ms)
{
    char text[CLOCK_TEXT_SIZE];
    if (realtime_ms == 0) {
        json_object_set_new(object, key, json_null());
        return;
    }
    clock_format(realtime_ms, text);
    json_object_set_new(object, key, json_string(text));
}

void lease_viewer_url(uint16_t port, char url[LEASE_URL_SIZE])
{
    snprintf(url, LEASE_URL_SIZE, "http://127.0.0.1:%u/", port);
}

json_t *lease_encode(const struct lease_document *lease)
{
    json_t *object = json_pack("{s:s, s:s, s:o}", "id", lease->id, "state", lease->live ? "live" : "ended",
                               "quote", quote_encode(&lease->shape));
    put_time(object, "started_at", lease->started_ms);
    put_time(object, "ended_at", lease->ended_ms);
    put_time(object, "expires_at", lease->expires_ms);
    if (!lease->live && lease->reason)
        json_object_set_new(object, "reason", json_string(lease->reason));
    if (lease->live && lease->viewer_port) {
        char url[LEASE_URL_SIZE];
        lease_viewer_url(lease->viewer_port, url);
        json_object_set_new(object, "viewer_url", json_string(url));
    }
    return object;
}

int64_t receipt_billed_seconds(const struct lease_receipt *receipt)
{
    return receipt->occupancy_seconds > LEASE_MIN_SECONDS ? receipt->occupancy_seconds : LEASE_MIN_SECONDS;
}

json_t *receipt_encode(const struct lease_receipt *receipt)
{
    int64_t billed = receipt_billed_seconds(receipt);
    /* rate x billed / 3600, rounded to the nearest of 6 decimals; no floating point near money */
    int64_t micro = (LEASE_RATE_MICRO_USD_PER_HOUR * billed + 1800) / 3600;
    char notional[40];
    snprintf(notional, sizeof notional, "%" PRId64 ".%06" PRId64, micro / 1000000, micro % 1000000);
    return json_pack("{s:s, s:I, s:I, s:i, s:I, s:s, s:s, s:s, s:o}", "lease_id", receipt->lease_id,
                     "occupancy_seconds", (json_int_t)receipt->occupancy_seconds, "down_seconds",
                     (json_int_t)receipt->down_seconds, "min_seconds", LEASE_MIN_SECONDS, "billed_seconds",
                     (json_int_t)billed, "occupancy_unit", "seconds", "notional_usd", notional, "reason",
                     lease_reason_word(receipt->reason), "settlement", protocol_settlement());
}
