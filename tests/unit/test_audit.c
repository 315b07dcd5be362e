/* The audit trail: its lines, its mode, its rotation, and how strangers are kept from flooding it. */
#include "unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "tests/unit/home_fixture.h"

static struct audit *open_audit(void)
{
    struct error err = ERROR_INIT;
    struct audit *audit = audit_open(home, &err);
    assert_non_null(audit);
    return audit;
}

/* The lines of a file of the home; *owned*. */
static json_t *lines_of(const char *name)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *path = file_join(home, name);
    CLEANUP_FREE char *text = NULL;
    assert_int_equal(file_read(path, 64 << 20, &text, NULL, &err), 0);
    json_t *lines = json_array();
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line;) {
        json_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        json_array_append_new(lines, object);
    }
    return lines;
}

static void appended_over_restarts(void **state)
{
    (void)state;
    struct stat info;
    CLEANUP_FREE char *path = file_join(home, "audit.jsonl");
    for (int i = 0; i < 2; i++) {
        struct audit *audit = open_audit();
        audit_write(audit, "lease_live", json_pack("{s:s}", "lease", "l_1"));
        audit_write(audit, "node_stop", NULL);
        audit_close(audit);
    }
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    CLEANUP_JSON json_t *lines = lines_of("audit.jsonl");
    assert_int_equal(json_array_size(lines), 4);
    const json_t *first = json_array_get(lines, 0);
    assert_string_equal(json_string_value(json_object_get(first, "event")), "lease_live");
    assert_string_equal(json_string_value(json_object_get(first, "lease")), "l_1");
    assert_int_equal(strlen(json_string_value(json_object_get(first, "time"))), 24);
}

static void rotated_by_size(void **state)
{
    (void)state;
    struct audit *audit = open_audit();
    enum { PIECE = 64 << 10, LINES = 2 * (AUDIT_FILE_MAX / PIECE) + 10 };
    CLEANUP_FREE char *long_text = malloc(PIECE);
    memset(long_text, 'x', PIECE - 1);
    long_text[PIECE - 1] = '\0';
    for (int i = 0; i < LINES; i++)
        audit_write(audit, "filler", json_pack("{s:i, s:s}", "n", i, "text", long_text));
    audit_close(audit);
    int next = 0;
    static const char *const names[] = {"audit.jsonl.2", "audit.jsonl.1", "audit.jsonl"};
    for (size_t f = 0; f < 3; f++) {
        CLEANUP_JSON json_t *lines = lines_of(names[f]);
        size_t i;
        const json_t *line;
        json_array_foreach(lines, i, line)
            assert_int_equal(json_integer_value(json_object_get(line, "n")), next++);
    }
    assert_int_equal(next, LINES); /* none lost, none twice */
}

/* Noise has a file and a bound of its own, each kind of it: what matters is never held back or pushed out. */
static void floods(void **state)
{
    (void)state;
    struct audit *audit = open_audit();
    for (int i = 0; i < 1000; i++) {
        audit_write_some(audit, AUDIT_REFUSALS, "refused", json_pack("{s:i}", "n", i));
        audit_write_some(audit, AUDIT_VIEWS, "view_open", json_pack("{s:i}", "n", i));
    }
    audit_write(audit, "lease_live", NULL);
    audit_close(audit);
    CLEANUP_JSON json_t *events = lines_of("audit.jsonl");
    CLEANUP_JSON json_t *refusals = lines_of("refused.jsonl");
    assert_in_range(json_array_size(events), AUDIT_BURST + 1, AUDIT_BURST + 3);
    assert_in_range(json_array_size(refusals), AUDIT_BURST, AUDIT_BURST + 2);
    const json_t *last = json_array_get(events, json_array_size(events) - 1);
    assert_string_equal(json_string_value(json_object_get(last, "event")), "lease_live");
}

static void nowhere_to_write(void **state)
{
    (void)state;
    audit_write(NULL, "lease_live", json_object());
    audit_write_some(NULL, AUDIT_REFUSALS, "refused", json_object());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(appended_over_restarts, make_home, remove_home),
        cmocka_unit_test_setup_teardown(rotated_by_size, make_home, remove_home),
        cmocka_unit_test_setup_teardown(floods, make_home, remove_home),
        cmocka_unit_test(nowhere_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
