/* doctor_run() whole, on this host, against a libvirt that is not there. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/home.h"
#include "config/settings.h"
#include "doctor/doctor.h"
#include "doctor/simulate.h"
#include "doctor_fixture.h"
#include "image_fixture.h"

struct bench {
    struct fixture fixture;
    struct config config;
    char home[160];
};

/* node.toml as it must have been for this configuration: the doctor compares. */
static void write_settings(struct config *config)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *toml = text_copy("");
    config->path = file_join(config->home, "node.toml");
    config->start_timeout_seconds = 60;
    for (const struct config_key *key = config_keys; key->member.name; key++) {
        CLEANUP_FREE char *before = toml;
        CLEANUP_FREE char *value = config_key_text(key, config);
        toml = value ? text_format("%s%s = %s\n", before, key->member.name, value) : text_copy(before);
    }
    REQUIRE(config_make_home(config->home, &err) == 0);
    fixture_write(config->path, toml, strlen(toml));
}

static int setup(void **state)
{
    static char uri[] = "qemu:///system?socket=/nonexistent/libvirt-sock", name[] = FIXTURE_NAME;
    struct bench *bench = calloc(1, sizeof *bench);
    fixture_make(&bench->fixture);
    snprintf(bench->home, sizeof bench->home, "%s/home", bench->fixture.folder);
    bench->config = green_config();
    bench->config.home = bench->home;
    bench->config.image = name;
    bench->config.image_dir = bench->config.state_dir = bench->fixture.folder;
    bench->config.image_digest = NULL;
    bench->config.libvirt_uri = uri;
    write_settings(&bench->config);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    fixture_remove(&bench->fixture);
    free(bench->config.path);
    free(bench);
    return 0;
}

static void test_unknown_case(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    struct doctor_options options = {.config = &bench->config, .simulate = "no-such-case"};
    assert_null(doctor_run(&options, &err));
    assert_int_equal(err.code, ERROR_BAD_REQUEST);
    for (size_t i = 0; simulate_case(i); i++)
        assert_non_null(strstr(err.text, simulate_case(i)));
    CLEANUP_FREE char *key = file_join(bench->home, "node.key");
    assert_int_equal(access(key, F_OK), -1); /* refused before anything is touched */
}

static void test_without_libvirt(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    struct doctor_options options = {.config = &bench->config, .intent = INTENT_PRIVATE};
    CLEANUP_REPORT struct report *report = doctor_run(&options, &err);
    assert_non_null(report);
    assert_false(report->ok);
    static const enum report_row red[] = {ROW_RUNTIME, ROW_KVM, ROW_GUEST_IMAGE, ROW_EGRESS, ROW_CAPACITY};
    for (size_t i = 0; i < sizeof red / sizeof red[0]; i++)
        assert_int_equal(report->checks[red[i]].status, STATUS_FAIL);
    assert_int_equal(report->checks[ROW_CLASS].status, STATUS_PASS);
    assert_int_equal(report->checks[ROW_CONFINEMENT].status, STATUS_WARN);
    assert_non_null(strstr(report->checks[ROW_RUNTIME].detail, "does not answer"));
    assert_non_null(strstr(report->checks[ROW_GUEST_IMAGE].detail, "is verified"));
    assert_string_equal(report->image_name, FIXTURE_NAME);
    assert_true(digest_valid(report->node_id));

    /* the node keeps its id */
    CLEANUP_REPORT struct report *again = doctor_run(&options, &err);
    assert_string_equal(again->node_id, report->node_id);
    assert_true(again->time_ms >= report->time_ms);
}

static void test_simulated_on_this_host(void **state)
{
    struct bench *bench = *state;
    for (size_t i = 0; simulate_case(i); i++) {
        struct error err = ERROR_INIT;
        struct doctor_options options = {
            .config = &bench->config, .intent = INTENT_PRIVATE, .simulate = simulate_case(i)};
        CLEANUP_REPORT struct report *report = doctor_run(&options, &err);
        assert_non_null(report);
        assert_false(report->ok);
        CLEANUP_JSON json_t *document = report_encode(report);
        assert_true(json_is_false(json_object_get(document, "ok")));
    }
    assert_int_equal(bench->config.class, CLASS_DEDICATED_SERVER); /* the caller's own is untouched */
    assert_string_equal(bench->config.bind, "127.0.0.1");
}

/* Settings that a running node does not run by any more: the report would be of something else. */
static void test_settings_changed(void **state)
{
    struct bench *bench = *state;
    struct error err = ERROR_INIT;
    struct doctor_options options = {.config = &bench->config, .intent = INTENT_PRIVATE};
    static const struct {
        const char *text, *word;
    } files[] = {{"class = \"laptop\"\n", "class"}, {"nonsense = 1\n", "nonsense"}, {"", "image"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        fixture_write(bench->config.path, files[i].text, strlen(files[i].text));
        CLEANUP_REPORT struct report *report = doctor_run(&options, &err);
        assert_int_equal(report->checks[ROW_CLASS].status, STATUS_FAIL);
        assert_non_null(strstr(report->checks[ROW_CLASS].detail, files[i].word));
    }
}

int main(void)
{
#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_BENCH(test_unknown_case),
        WITH_BENCH(test_without_libvirt),
        WITH_BENCH(test_simulated_on_this_host),
        WITH_BENCH(test_settings_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
