/* Requests, leases and receipts as documents. */
#include "unit.h"

#include <string.h>

#include "base/document.h"
#include "protocol/error_words.h"
#include "protocol/lease.h"

static int decode(const char *text, struct lease_request *request, struct error *err)
{
    static json_t *kept; /* the os is borrowed from the document */
    json_decref(kept);
    kept = document_parse(text, strlen(text), err);
    return kept ? lease_request_decode(kept, request, err) : -1;
}

static void the_markets_request(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct lease_request request;
    assert_int_equal(decode("{\"os\":\"linux\"}", &request, &err), 0);
    assert_string_equal(request.os, "linux");
    assert_int_equal(request.vcpu, -1);
    assert_int_equal(lease_request_check(&request, &err), 0);
}

static void bodies_of_the_wrong_form(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "null",
        "[]",
        "1",
        "{\"os\":",
        "{}",
        "{\"os\":1}",
        "{\"os\":null}",
        "{\"os\":\"linux\",\"vcpu\":\"2\"}",
        "{\"os\":\"linux\",\"vcpu\":2.5}",
        "{\"os\":\"linux\",\"vcpu\":null}",
        "{\"os\":\"linux\",\"mem_gb\":4}",
        "{\"os\":\"linux\",\"vcpu\":1,\"vcpu\":2}",
        "{\"os\":\"linux\"} x",
        "{\"os\":\"lin\\u0000ux\"}",
        "{\"os\":\"linux\",\"vcpu\":99999999999999999999}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct error err = ERROR_INIT;
        struct lease_request request;
        if (decode(bodies[i], &request, &err) == 0)
            fail_msg("accepted: %s", bodies[i]);
        assert_int_equal(err.code, ERROR_BAD_REQUEST);
        assert_true(err.text[0]);
    }
}

static void shapes_that_make_no_sense(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"os\":\"linux\",\"vcpu\":0}",
        "{\"os\":\"linux\",\"vcpu\":-1}",
        "{\"os\":\"linux\",\"vcpu\":65}",
        "{\"os\":\"linux\",\"mem_gib\":0}",
        "{\"os\":\"linux\",\"mem_gib\":513}",
        "{\"os\":\"linux\",\"disk_gib\":-5}",
        "{\"os\":\"linux\",\"disk_gib\":9223372036854775807}",
        "{\"os\":\"linux\",\"ttl_seconds\":0}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct error err = ERROR_INIT;
        struct lease_request request;
        assert_int_equal(decode(bodies[i], &request, &err), 0);
        if (lease_request_check(&request, &err) == 0)
            fail_msg("accepted: %s", bodies[i]);
        assert_int_equal(err.code, ERROR_BAD_SHAPE);
    }
}

static void other_systems(void **state)
{
    (void)state;
    static const char *const bodies[] = {"{\"os\":\"windows\"}", "{\"os\":\"macos\"}", "{\"os\":\"\"}",
                                         "{\"os\":\"Linux\"}"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct error err = ERROR_INIT;
        struct lease_request request;
        assert_int_equal(decode(bodies[i], &request, &err), 0);
        assert_int_equal(lease_request_check(&request, &err), -1);
        assert_int_equal(err.code, ERROR_OS_REFUSED);
    }
}

static void check_receipt(int64_t occupancy, int64_t billed, const char *notional)
{
    struct lease_receipt receipt = {.lease_id = "l_00112233445566778899aabbccddeeff",
                                    .occupancy_seconds = occupancy};
    CLEANUP_JSON json_t *document = receipt_encode(&receipt);
    assert_int_equal(json_integer_value(json_object_get(document, "billed_seconds")), billed);
    assert_string_equal(json_string_value(json_object_get(document, "notional_usd")), notional);
    assert_string_equal(json_string_value(json_object_get(document, "reason")), "graceful");
    assert_true(json_is_false(json_object_get(json_object_get(document, "settlement"), "charged_here")));
}

static void receipts(void **state)
{
    (void)state;
    check_receipt(0, 60, "0.000800");
    check_receipt(59, 60, "0.000800");
    check_receipt(60, 60, "0.000800");
    check_receipt(61, 61, "0.000813");
    check_receipt(3600, 3600, "0.048000");
    check_receipt(86400, 86400, "1.152000");
}

static void a_live_lease(void **state)
{
    (void)state;
    struct lease_document lease = {.id = "l_00112233445566778899aabbccddeeff",
                                   .live = true,
                                   .shape = {2, 4, 40},
                                   .started_ms = 1769903999123};
    CLEANUP_JSON json_t *document = lease_encode(&lease);
    assert_string_equal(json_string_value(json_object_get(document, "state")), "live");
    assert_string_equal(json_string_value(json_object_get(document, "started_at")),
                        "2026-01-31T23:59:59.123Z");
    assert_true(json_is_null(json_object_get(document, "ended_at")));
    assert_null(json_object_get(document, "viewer_url"));
    json_t *quote = json_object_get(document, "quote");
    assert_string_equal(json_string_value(json_object_get(quote, "density")), "isolated");
    assert_string_equal(json_string_value(json_object_get(quote, "notional_usd_per_hour")), "0.048");
    assert_int_equal(json_integer_value(json_object_get(quote, "min_seconds")), 60);
}

static void ids(void **state)
{
    (void)state;
    assert_true(lease_id_valid("l_00112233445566778899aabbccddeeff"));
    assert_false(lease_id_valid("l_00112233445566778899aabbccddeef"));
    assert_false(lease_id_valid("l_00112233445566778899AABBCCDDEEFF"));
    assert_false(lease_id_valid("../../../../etc/passwd"));
    assert_false(lease_id_valid(""));
}

static void every_error_has_a_word_and_a_status(void **state)
{
    (void)state;
    for (unsigned code = ERROR_INTERNAL; code < ERROR_CODE_COUNT; code++) {
        assert_non_null(protocol_error_word(code));
        assert_in_range(protocol_error_status(code), 400, 599);
        assert_int_equal(protocol_error_code(protocol_error_word(code)), code);
    }
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_NOT_FOUND, "\xff is no UTF-8");
    CLEANUP_JSON json_t *document = protocol_error_encode(&err);
    assert_true(json_is_string(json_object_get(document, "error")));
    assert_string_equal(json_string_value(json_object_get(document, "code")), "not_found");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_markets_request),
        cmocka_unit_test(bodies_of_the_wrong_form),
        cmocka_unit_test(shapes_that_make_no_sense),
        cmocka_unit_test(other_systems),
        cmocka_unit_test(receipts),
        cmocka_unit_test(a_live_lease),
        cmocka_unit_test(ids),
        cmocka_unit_test(every_error_has_a_word_and_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
