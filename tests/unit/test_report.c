/* The document of the doctor's report: its digest, its form for the market, never ok with a red row. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/document.h"
#include "base/text.h"
#include "protocol/labels.h"
#include "protocol/report.h"

static struct report *make_green(void)
{
    struct report *report = calloc(1, sizeof *report);
    report->ok = true;
    report->class_word = "vm-guest";
    report->intent_word = "public";
    for (int row = 0; row < ROW_COUNT; row++)
        report->checks[row] = (struct report_check){STATUS_PASS, text_format("row %d is fine", row)};
    report->image_name = text_copy("berthos-linux-desktop:v1");
    report->labels =
        json_pack("{s:s, s:s, s:s, s:s}", LABEL_VERSION_KEY, LABEL_VERSION, LABEL_DESKTOP_KEY, LABEL_DESKTOP,
                  LABEL_EGRESS_KEY, LABEL_EGRESS, LABEL_DISPLAY_KEY, "xorg-virtio-gpu");
    report->node_id = text_copy("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    report->time_ms = INT64_C(1769903999123);
    return report;
}

static const char *word(const json_t *document, const char *key)
{
    return json_string_value(json_object_get(document, key));
}

static void test_green(void **state)
{
    (void)state;
    CLEANUP_REPORT struct report *report = make_green();
    CLEANUP_JSON json_t *document = report_encode(report);
    assert_string_equal(word(document, "protocol"), "v1");
    assert_string_equal(word(document, "source"), "berthos.doctor");
    assert_true(json_is_true(json_object_get(document, "ok")));
    assert_true(json_is_true(json_object_get(document, "eligible")));
    assert_string_equal(word(document, "class"), "vm-guest");
    assert_string_equal(word(document, "intent"), "public");
    assert_string_equal(word(document, "timestamp"), "2026-01-31T23:59:59.123Z");
    assert_string_equal(word(document, "attestedAt"), word(document, "timestamp"));
    assert_string_equal(word(document, "nodeId"), report->node_id);
    static const char *const ids[] = {"class",       "bind",         "runtime",     "kvm",
                                      "guest_image", "egress",       "capacity",    "guest_os",
                                      "chassis",     "availability", "confinement", "tunnel"};
    const json_t *checks = json_object_get(document, "checks");
    assert_int_equal(json_array_size(checks), sizeof ids / sizeof ids[0]);
    for (size_t i = 0; i < json_array_size(checks); i++) {
        assert_string_equal(word(json_array_get(checks, i), "id"), ids[i]);
        assert_string_equal(word(json_array_get(checks, i), "status"), "pass");
        assert_int_equal(json_object_size(json_array_get(checks, i)), 3);
    }
    const json_t *image = json_object_get(document, "image"),
                 *guest = json_object_get(document, "guest_image");
    assert_string_equal(word(image, "name"), report->image_name);
    assert_true(json_equal(json_object_get(image, "labels"), report->labels));
    assert_true(json_equal(json_object_get(document, "labels"), report->labels));
    assert_true(json_equal(json_object_get(guest, "labels"), report->labels));
    assert_string_equal(word(guest, "version_label"), LABEL_VERSION);
    assert_string_equal(word(guest, "desktop_label"), LABEL_DESKTOP);
    assert_string_equal(word(guest, "egress_label"), LABEL_EGRESS);
}

/* The digest is that of the document without it, as RFC 8785 writes it: anybody can compute it again. */
static void test_digest(void **state)
{
    (void)state;
    CLEANUP_REPORT struct report *report = make_green();
    CLEANUP_JSON json_t *document = report_encode(report);
    char again[DIGEST_HEX_SIZE];
    CLEANUP_FREE char *digest = text_copy(word(document, "digest"));
    assert_true(digest_valid(digest));
    json_object_del(document, "digest");
    CLEANUP_FREE char *canonical = json_dumps(document, JSON_SORT_KEYS | JSON_COMPACT);
    assert_true(
        text_starts(canonical, "{\"attestedAt\":\"2026-01-31T23:59:59.123Z\",\"checks\":[{\"detail\":"));
    digest_buffer(canonical, strlen(canonical), again);
    assert_string_equal(digest, again);

    free(report->checks[ROW_TUNNEL].detail);
    report->checks[ROW_TUNNEL].detail = text_copy("another word");
    CLEANUP_JSON json_t *other = report_encode(report);
    assert_string_not_equal(word(other, "digest"), digest);
}

static void test_never_ok_with_a_red_row(void **state)
{
    (void)state;
    for (int row = 0; row < ROW_COUNT; row++) {
        for (int status = -1; status < 5; status++) {
            CLEANUP_REPORT struct report *report = make_green();
            report->checks[row].status = (enum report_status)status;
            CLEANUP_JSON json_t *document = report_encode(report);
            bool good = status == STATUS_PASS || status == STATUS_WARN;
            assert_int_equal(json_is_true(json_object_get(document, "ok")), good);
            assert_int_equal(json_is_true(json_object_get(document, "eligible")), good);
        }
    }
    CLEANUP_REPORT struct report *laptop = make_green();
    laptop->class_word = "laptop";
    CLEANUP_JSON json_t *document = report_encode(laptop);
    assert_true(json_is_false(json_object_get(document, "ok")));
}

static void test_empty(void **state)
{
    (void)state;
    CLEANUP_REPORT struct report *report = calloc(1, sizeof *report);
    CLEANUP_JSON json_t *document = report_encode(report);
    assert_true(json_is_false(json_object_get(document, "ok")));
    assert_true(json_is_null(json_object_get(document, "image")));
    assert_true(json_is_null(json_object_get(document, "guest_image")));
    assert_true(json_is_null(json_object_get(document, "nodeId")));
    assert_int_equal(json_object_size(json_object_get(document, "labels")), 0);
    for (size_t i = 0; i < ROW_COUNT; i++)
        assert_string_equal(word(json_array_get(json_object_get(document, "checks"), i), "status"), "fail");
}

static void test_detail_is_clean(void **state)
{
    (void)state;
    CLEANUP_REPORT struct report *report = make_green();
    free(report->checks[ROW_KVM].detail);
    report->checks[ROW_KVM].detail = text_copy("a\033[31mb\nc\xff\xc3\xa9\x7f");
    CLEANUP_JSON json_t *document = report_encode(report);
    assert_string_equal(word(json_array_get(json_object_get(document, "checks"), ROW_KVM), "detail"),
                        "a [31mb c?\xc3\xa9 ");
}

/* The strict form: exactly what a market stores, member by member, and as true as the report it is made of.
 */
static void test_market_form(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_REPORT struct report *report = make_green();
    report->checks[ROW_TUNNEL].status = STATUS_WARN;
    CLEANUP_JSON json_t *document = report_encode_market(report, "http://127.0.0.1:7432", &err);
    CLEANUP_JSON json_t *whole = report_encode(report);
    assert_non_null(document);
    static const char *const members[] = {"source", "ok",          "class",    "nodeId", "attestedAt",
                                          "digest", "berthosUrl",  "protocol", "intent", "labels",
                                          "checks", "guest_image", "image",    NULL};
    assert_int_equal(document_keys(document, members, &err), 0);
    assert_int_equal(json_object_size(document), sizeof members / sizeof members[0] - 1);
    assert_string_equal(word(document, "berthosUrl"), "http://127.0.0.1:7432");
    static const char *const same[] = {"source",   "ok",     "class",  "nodeId", "attestedAt",
                                       "protocol", "intent", "labels", "checks", "guest_image"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_true(json_equal(json_object_get(document, same[i]), json_object_get(whole, same[i])));
    static const char *const images[] = {"guest_image", "image"};
    static const char *const of_image[] = {"name",         "version_label", "desktop_label",
                                           "egress_label", "labels",        NULL};
    for (size_t i = 0; i < 2; i++) {
        const json_t *image = json_object_get(document, images[i]);
        assert_int_equal(document_keys(image, of_image, &err), 0);
        assert_int_equal(json_object_size(image), 5);
        assert_string_equal(word(image, "egress_label"), LABEL_EGRESS);
    }

    char again[DIGEST_HEX_SIZE];
    CLEANUP_FREE char *digest = text_copy(word(document, "digest"));
    json_object_del(document, "digest");
    CLEANUP_FREE char *canonical = json_dumps(document, JSON_SORT_KEYS | JSON_COMPACT);
    digest_buffer(canonical, strlen(canonical), again);
    assert_string_equal(digest, again);
}

static void assert_no_market(const struct report *report, const char *reason)
{
    struct error err = ERROR_INIT;
    assert_null(report_encode_market(report, "http://127.0.0.1:7432", &err));
    assert_int_equal(err.code, ERROR_INELIGIBLE);
    assert_non_null(strstr(err.text, reason));
}

static void test_market_refuses(void **state)
{
    (void)state;
    for (int row = 0; row < ROW_COUNT; row++) {
        CLEANUP_REPORT struct report *report = make_green(); /* it says ok, and one row says otherwise */
        report->checks[row].status = STATUS_FAIL;
        assert_no_market(report, "a row fails");
    }
    CLEANUP_REPORT struct report *private = make_green();
    private->intent_word = "private";
    assert_no_market(private, "private intent");
    CLEANUP_REPORT struct report *red = make_green();
    red->ok = false;
    assert_no_market(red, "a row fails");
    CLEANUP_REPORT struct report *laptop = make_green();
    laptop->class_word = "laptop";
    assert_no_market(laptop, "a row fails");
    CLEANUP_REPORT struct report *nobody = make_green();
    free(TAKE(nobody->node_id));
    assert_no_market(nobody, "no key");
    CLEANUP_REPORT struct report *bare = make_green();
    free(TAKE(bare->image_name));
    assert_no_market(bare, "no verified image");
    CLEANUP_REPORT struct report *empty = calloc(1, sizeof *empty);
    assert_no_market(empty, "private intent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_green),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_never_ok_with_a_red_row),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_detail_is_clean),
        cmocka_unit_test(test_market_form),
        cmocka_unit_test(test_market_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
