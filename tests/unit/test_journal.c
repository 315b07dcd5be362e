/* The journal: what is written is read back, what is torn or foreign is set aside. */
#include "unit.h"

#include <string.h>
#include <sys/stat.h>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "lease/journal.h"
#include "tests/unit/home_fixture.h"

static struct journal_record a_record(const char *id, enum journal_state in)
{
    struct journal_record record = {
        .state = in,
        .berth = 1,
        .uuid = "11111111-2222-5333-8444-555555555555",
        .shape = {2, 4, 40},
        .started_ms = 1000,
        .occupied_ms = 61999,
        .ended_ms = 63000,
        .reason = REASON_EXPIRED,
    };
    snprintf(record.id, sizeof record.id, "%s", id);
    memset(record.owner, 'a', 64);
    return record;
}

#define FIRST  "l_00000000000000000000000000000001"
#define SECOND "l_00000000000000000000000000000002"
#define THIRD  "l_00000000000000000000000000000003"

static void written_and_read(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct journal journal;
    struct journal_record record = a_record(FIRST, JOURNAL_ENDED), read;
    struct lease_receipt receipt;
    struct stat info;
    assert_int_equal(journal_open(&journal, home, &err), 0);
    assert_int_equal(stat(journal.folder, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(journal_write(&journal, &record, &err), 0);
    assert_int_equal(journal_read(&journal, FIRST, &read, &err), 0);
    assert_memory_equal(&read.shape, &record.shape, sizeof read.shape);
    assert_string_equal(read.owner, record.owner);
    assert_int_equal(read.reason, REASON_EXPIRED);
    journal_receipt(&read, &receipt);
    assert_int_equal(receipt.occupancy_seconds, 61);
    journal_close(&journal);
}

static void what_is_not_there(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct journal journal;
    struct journal_record read;
    assert_int_equal(journal_open(&journal, home, &err), 0);
    assert_int_equal(journal_read(&journal, FIRST, &read, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(journal_read(&journal, "../../etc/passwd", &read, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    journal_close(&journal);
}

static void unfinished_ones_are_found_and_torn_ones_set_aside(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct journal journal;
    struct journal_record live = a_record(FIRST, JOURNAL_LIVE), ended = a_record(SECOND, JOURNAL_ENDED);
    struct journal_record *found;
    struct stat info;
    size_t count;
    assert_int_equal(journal_open(&journal, home, &err), 0);
    assert_int_equal(journal_write(&journal, &live, &err), 0);
    assert_int_equal(journal_write(&journal, &ended, &err), 0);
    CLEANUP_FREE char *torn = text_format("%s/%s.json", journal.folder, THIRD);
    CLEANUP_FREE char *aside = text_format("%s.broken", torn);
    CLEANUP_FREE char *foreign = file_join(journal.folder, "notes.txt");
    assert_int_equal(file_write_atomic(torn, 0600, "{\"schema\": \"bert", 16, &err), 0);
    assert_int_equal(file_write_atomic(foreign, 0600, "x", 1, &err), 0);
    assert_int_equal(journal_unfinished(&journal, &found, &count, &err), 0);
    assert_int_equal(count, 1);
    assert_string_equal(found[0].id, FIRST);
    assert_int_equal(stat(aside, &info), 0);
    assert_int_equal(stat(foreign, &info), 0);
    free(found);
    journal_close(&journal);
}

static void a_record_under_another_name_is_not_trusted(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct journal journal;
    struct journal_record record = a_record(FIRST, JOURNAL_LIVE), read;
    assert_int_equal(journal_open(&journal, home, &err), 0);
    assert_int_equal(journal_write(&journal, &record, &err), 0);
    CLEANUP_FREE char *from = text_format("%s/%s.json", journal.folder, FIRST);
    CLEANUP_FREE char *to = text_format("%s/%s.json", journal.folder, SECOND);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(journal_read(&journal, SECOND, &read, &err), -1);
    assert_int_equal(err.code, ERROR_INTERNAL);
    journal_close(&journal);
}

/* The document of a node of the first version, which did not write everything that is kept today. */
static const char first_version[] =
    "{\"schema\": \"berthos.lease/1\", \"id\": \"" FIRST "\", \"state\": \"ended\", \"owner\": "
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", \"berth\": 1, \"uuid\": "
    "\"11111111-2222-5333-8444-555555555555\", \"vcpu\": 2, \"mem_gib\": 4, \"disk_gib\": 40, "
    "\"started_ms\": 1000, \"expires_ms\": 0, \"ended_ms\": 63000, \"occupied_ms\": 61999, \"stamp_ms\": 0, "
    "\"reason\": \"expired\"}";

static void documents_of_earlier_versions_are_read(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct journal_record record = a_record(FIRST, JOURNAL_ENDED), read;
    CLEANUP_JSON json_t *document = document_parse(first_version, strlen(first_version), &err);
    assert_int_equal(journal_decode(document, &read, &err), 0);
    assert_memory_equal(&read, &record, sizeof read);
    const char *needed[] = {"id",       "state",       "owner",    "berth",      "uuid",
                            "vcpu",     "mem_gib",     "disk_gib", "started_ms", "expires_ms",
                            "ended_ms", "occupied_ms", "stamp_ms", "reason",     "schema"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        CLEANUP_JSON json_t *torn = json_copy(document);
        json_object_del(torn, needed[i]);
        assert_int_equal(journal_decode(torn, &read, &err), -1);
        assert_non_null(strstr(err.text, needed[i]));
    }
}

static void every_member_is_kept(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct journal_record record = a_record(FIRST, JOURNAL_ENDING), read;
    record.expires_ms = 1;
    record.down_ms = 2;
    record.stamp_ms = 3;
    record.stamped_ms = INT64_MAX;
    record.helper = record.paused = true;
    snprintf(record.boot_id, sizeof record.boot_id, "01234567-89ab-cdef-0123-456789abcdef");
    CLEANUP_JSON json_t *document = journal_encode(&record);
    assert_int_equal(json_object_size(document), 20);
    assert_int_equal(journal_decode(document, &read, &err), 0);
    assert_memory_equal(&read, &record, sizeof read);
    static const struct {
        const char *name, *value;
    } wrong[] = {{"schema", "\"berthos.lease/2\""},
                 {"id", "\"l_0\""},
                 {"state", "\"lives\""},
                 {"owner", "\"me\""},
                 {"berth", "2147483648"},
                 {"uuid", "\"1\""},
                 {"vcpu", "-1"},
                 {"down_ms", "null"},
                 {"boot_id", "\"a\\u0000\""},
                 {"paused", "1"},
                 {"reason", "\"unknown\""},
                 {"boot_id", "\"01234567-89ab-cdef-0123-456789abcdef0\""}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CLEANUP_JSON json_t *bad = json_copy(document);
        json_object_set_new(bad, wrong[i].name,
                            json_loads(wrong[i].value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
        assert_int_equal(journal_decode(bad, &read, &err), -1);
    }
}

#define DAY_MS 86400000LL

static void old_leases_are_archived(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct journal journal;
    struct stat info;
    struct journal_record old = a_record(FIRST, JOURNAL_ENDED), young = a_record(SECOND, JOURNAL_ENDED),
                          live = a_record(THIRD, JOURNAL_LIVE), read;
    old.ended_ms = 1000 * DAY_MS;
    old.started_ms = old.ended_ms - 100;
    old.down_ms = 7000;
    young.ended_ms = old.ended_ms + DAY_MS;
    young.started_ms = young.ended_ms - 100;
    live.started_ms = young.started_ms + 10;
    assert_int_equal(journal_open(&journal, home, &err), 0);
    CLEANUP_FREE char *document = text_format("%s/" FIRST ".json", journal.folder);
    for (int turn = 0; turn < 2; turn++) { /* the second time as after a crash before the document went */
        assert_int_equal(journal_write(&journal, &old, &err), 0);
        assert_int_equal(journal_write(&journal, &young, &err), 0);
        assert_int_equal(journal_write(&journal, &live, &err), 0);
        CLEANUP_FREE struct journal_record *before = NULL, *after = NULL;
        size_t count;
        assert_int_equal(journal_history(&journal, &before, &count, &err), 0);
        assert_int_equal(count, 3);
        assert_int_equal(journal_compact(&journal, old.ended_ms + JOURNAL_KEEP_DAYS * DAY_MS, &err), 0);
        assert_int_equal(stat(document, &info), -1);
        assert_int_equal(journal_read(&journal, FIRST, &read, &err), 0);
        assert_memory_equal(&read, &old, sizeof read);
        assert_int_equal(journal_history(&journal, &after, &count, &err), 0);
        assert_int_equal(count, 3);
        assert_string_equal(after[0].id, THIRD);
        assert_string_equal(after[1].id, SECOND);
        assert_string_equal(after[2].id, FIRST);
    }
    CLEANUP_FREE char *archive = file_join(journal.folder, "archive.jsonl");
    assert_int_equal(stat(archive, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(journal_read(&journal, "l_0000000000000000000000000000000f", &read, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    journal_close(&journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_of_earlier_versions_are_read),
        cmocka_unit_test(every_member_is_kept),
        cmocka_unit_test_setup_teardown(old_leases_are_archived, make_home, remove_home),
        cmocka_unit_test_setup_teardown(written_and_read, make_home, remove_home),
        cmocka_unit_test_setup_teardown(what_is_not_there, make_home, remove_home),
        cmocka_unit_test_setup_teardown(unfinished_ones_are_found_and_torn_ones_set_aside, make_home,
                                        remove_home),
        cmocka_unit_test_setup_teardown(a_record_under_another_name_is_not_trusted, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
