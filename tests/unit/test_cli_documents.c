/* What the commands make of the node's documents before they print: phases, shapes, verdicts, ids. */
#include "unit.h"

#include <string.h>

#include "base/document.h"
#include "doctor_table.h"
#include "documents.h"
#include "protocol/lease.h"

static json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *document = document_parse(text, strlen(text), &err);
    if (!document)
        fail_msg("%s", err.text);
    return document;
}

static void phase_is(const char *text, const char *phase)
{
    CLEANUP_JSON json_t *node = parsed(text);
    assert_string_equal(documents_phase(node), phase);
}

static void test_phase(void **state)
{
    (void)state;
    phase_is("{\"guest\": {\"state\": \"preparing\", \"phase\": \"boot\"}}", "boot");
    phase_is("{\"guest\": {\"state\": \"leased\", \"phase\": null},"
             " \"berths\": [{\"state\": \"leased\", \"phase\": null},"
             "              {\"state\": \"preparing\", \"phase\": \"first frame\"}]}",
             "first frame");
    /* a guest for the next one is being prepared beside it, or is what is waited for */
    phase_is("{\"berths\": [{\"state\": \"preparing\", \"phase\": \"boot\", \"lease\": null},"
             "              {\"state\": \"preparing\", \"phase\": \"desktop\", \"lease\": \"l_1\"},"
             "              {\"state\": \"preparing\", \"phase\": \"define\", \"lease\": \"l_2\"}]}",
             "desktop");
    phase_is("{\"guest\": {\"state\": \"leased\", \"phase\": null},"
             " \"berths\": [{\"state\": \"leased\", \"phase\": null, \"lease\": \"l_1\"},"
             "              {\"state\": \"preparing\", \"phase\": \"settle\", \"lease\": null}]}",
             "settle");
    /* a node of another make, or one that says nothing yet */
    phase_is("{}", "waiting for the node");
    phase_is("[]", "waiting for the node");
    phase_is("{\"guest\": 1, \"berths\": {\"state\": \"preparing\"}}", "waiting for the node");
    phase_is("{\"berths\": [1, null, {\"state\": 2}]}", "waiting for the node");
}

static void test_shape(void **state)
{
    (void)state;
    CLEANUP_JSON json_t *quote = parsed("{\"vcpu\": 2, \"mem_gib\": 4, \"disk_gib\": 40}");
    CLEANUP_FREE char *shape = documents_shape(quote);
    assert_string_equal(shape, "2 vCPU, 4 GiB memory, 40 GiB disk");
    CLEANUP_JSON json_t *partial = parsed("{\"vcpu\": 2, \"mem_gib\": \"4\", \"disk_gib\": 40}");
    assert_null(documents_shape(partial));
    assert_null(documents_shape(NULL));
}

static void berth_is(const char *text, const char *line)
{
    CLEANUP_JSON json_t *berth = parsed(text);
    CLEANUP_FREE char *shown = documents_berth(berth);
    assert_string_equal(shown, line);
}

static void test_berth(void **state)
{
    (void)state;
    berth_is(
        "{\"n\": 0, \"state\": \"preparing\", \"phase\": \"boot\", \"seconds\": 12.9, \"prepared\": null}",
        "preparing: boot, 12 s");
    berth_is("{\"state\": \"ready\", \"seconds\": 65.2, \"prepared\": {\"how\": \"ram\", \"vcpu\": 2, "
             "\"mem_gib\": 4, \"disk_gib\": 40, \"seconds\": 65.1}}",
             "ready, 1 min 5 s; prepared: 2 vCPU, 4 GiB memory, 40 GiB disk (ram, 1 min 5 s)");
    berth_is("{\"state\": \"empty\", \"seconds\": 1, \"prepared\": {\"how\": \"disk\", \"vcpu\": 1, "
             "\"mem_gib\": 1, \"disk_gib\": 2}}",
             "empty, 1 s; prepared: 1 vCPU, 1 GiB memory, 2 GiB disk (disk)");
    berth_is("{\"state\": \"failed\", \"seconds\": 3, \"reason\": \"its image has changed\"}",
             "failed, 3 s: its image has changed");
    berth_is("{\"state\": \"leased\", \"seconds\": 3, \"paused\": \"its disk failed\"}",
             "leased, 3 s; paused: its disk failed");
    /* a node of another make */
    berth_is("{}", "unknown");
    berth_is("{\"state\": \"empty\", \"prepared\": {\"how\": \"ram\"}}", "empty");
    berth_is("{\"state\": \"empty\", \"prepared\": \"ram\"}", "empty");
}

static void grant_is(const char *text, const char *line)
{
    CLEANUP_JSON json_t *grant = parsed(text);
    CLEANUP_FREE char *found = documents_grant(grant);
    assert_string_equal(found, line);
}

static void test_grant(void **state)
{
    (void)state;
    grant_is("{\"capabilities\": [\"operator\", \"lease\"], \"leases\": null, \"max_seconds\": null}",
             "operator, lease");
    grant_is("{\"capabilities\": [\"lease\"], \"leases\": 1}", "lease; 1 lease at once");
    grant_is("{\"capabilities\": [\"lease\"], \"leases\": 2, \"max_seconds\": 45}",
             "lease; 2 leases at once, each 45 s at most");
    grant_is("{\"capabilities\": [\"lease\"], \"max_seconds\": 3600}", "lease; each 1 h at most");
    grant_is("{\"capabilities\": [1]}", "?");
    grant_is("{}", "nothing");
}

static void test_verdict(void **state)
{
    (void)state;
    struct report report = {.ok = true, .intent_word = "public"};
    for (int row = 0; row < ROW_COUNT; row++)
        report.checks[row].status = STATUS_PASS;
    report.checks[ROW_TUNNEL].status = STATUS_WARN;
    CLEANUP_FREE char *good = doctor_table_verdict(&report);
    assert_string_equal(good, "eligible for public intent");
    report.ok = false;
    report.checks[ROW_KVM].status = STATUS_FAIL;
    CLEANUP_FREE char *one = doctor_table_verdict(&report);
    assert_string_equal(one, "not eligible for public intent: 1 row fails");
    report.checks[ROW_CLASS].status = STATUS_FAIL;
    CLEANUP_FREE char *two = doctor_table_verdict(&report);
    assert_string_equal(two, "not eligible for public intent: 2 rows fail");
}

static void test_lease_ids(void **state)
{
    (void)state;
    assert_true(lease_id_valid("l_0123456789abcdef0123456789abcdef"));
    static const char *const bad[] = {
        "",
        "l_",
        "0123456789abcdef0123456789abcdef",
        "l_0123456789abcdef0123456789abcde",
        "l_0123456789abcdef0123456789abcdef0",
        "l_0123456789ABCDEF0123456789abcdef",
        "l_0123456789abcdef0123456789abcd/.",
        "L_0123456789abcdef0123456789abcdef",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (lease_id_valid(bad[i]))
            fail_msg("\"%s\" is no id", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phase), cmocka_unit_test(test_shape),   cmocka_unit_test(test_berth),
        cmocka_unit_test(test_grant), cmocka_unit_test(test_verdict), cmocka_unit_test(test_lease_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
