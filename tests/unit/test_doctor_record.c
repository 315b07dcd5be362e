/* Recordings: what is written is all that the evaluation reads, and the recording of a full KVM host is green
 * in public intent, while each single thing that is otherwise there makes it red. */
#include "unit.h"

#include "doctor/evaluate.h"
#include "doctor_fixture.h"
#include "recording.h"

static struct report *replay(const struct recording *recording)
{
    return evaluate(recording->config, recording->intent, recording->deep, &recording->facts);
}

static void test_green_host(void **state)
{
    (void)state;
    CLEANUP(recording_clear) struct recording recording = recording_read("kvm-host.json");
    struct error err = ERROR_INIT;
    CLEANUP_REPORT struct report *report = replay(&recording);
    assert_int_equal(recording.intent, INTENT_PUBLIC);
    for (int row = 0; row < ROW_COUNT; row++)
        if (report->checks[row].status != STATUS_PASS)
            fail_msg("%s: %s", report_row_word(row), report->checks[row].detail);
    assert_true(report->ok);
    CLEANUP_JSON json_t *market = report_encode_market(report, "http://127.0.0.1:7432", &err);
    assert_non_null(market);
}

/* What may be otherwise on a host that is green for the public, and why. */
static const struct {
    const char *section, *name;
} free_fields[] = {
    {"kvm", "module"},          /* explains a failure only */
    {"kvm", "virtual_host"},    /* the same */
    {"kvm", "opens_for_us"},    /* it is QEMU's user who opens it */
    {"kvm", "mode"},            /* the same */
    {"domain", "sandboxed"},    /* the canary's process says it better */
    {"canary", "no_new_privs"}, /* a warning */
    {"canary", "own_mounts"},   /* a warning */
    {"canary", "took_ms"},      /* shown */
    {"runtime", "user_known"},  /* the canary's process says it better; without a user no file is readable */
    {"runtime", "user_uid"},    /* the same */
    {"runtime", "own_users"},   /* of several berths, which the label keeps apart as well */
    {"capacity", "vcpu_given"}, /* as little as none */
    {"capacity", "idle_permille"},
    {"capacity", "own_mem_mib"},
    {"capacity", "own_leases"},
    {"capacity", "parked"}, /* shown */
    {"capacity", "parked_mem_mib"},
    {"capacity", "saved_states"},
};

static bool is_free(const char *section, const struct member *field)
{
    if (!section) /* the tunnel's row only warns */
        return true;
    for (size_t i = 0; i < sizeof free_fields / sizeof free_fields[0]; i++)
        if (strcmp(free_fields[i].section, section) == 0 && strcmp(free_fields[i].name, field->name) == 0)
            return true;
    return false;
}

static void assert_red(const struct recording *recording, const char *section, const char *name, long value)
{
    CLEANUP_REPORT struct report *report = replay(recording);
    if (report->ok)
        fail_msg("green although %s.%s is %ld", section, name, value);
}

/* Texts that are evidence, not words for the reader. */
static bool judged_text(const struct member *field)
{
    static const char *const judged[] = {"emulator", "machine", "name", "manifest_sha256"};
    for (size_t i = 0; i < sizeof judged / sizeof judged[0]; i++)
        if (strcmp(judged[i], field->name) == 0)
            return true;
    return false;
}

static unsigned spoil(const char *section, const struct member *field, const struct recording *green)
{
    struct recording bad = *green;
    void *member = (char *)&bad.facts + field->offset;
    unsigned tried = 0;
    switch (field->kind) {
    case MEMBER_WORD:
        for (unsigned value = 0; value < 9; value++) { /* beyond the last word, too */
            unsigned right;
            memcpy(&right, (const char *)&green->facts + field->offset, sizeof right);
            memcpy(member, &value, sizeof value);
            if (value == right)
                continue;
            assert_red(&bad, section, field->name, (long)value);
            tried++;
        }
        break;
    case MEMBER_INTEGER:
        for (int i = 0; i < 2; i++, tried++) {
            *(int64_t *)member = i - 1;
            assert_red(&bad, section, field->name, i - 1);
        }
        break;
    case FACT_VERSION:
        *(unsigned long *)member = 0;
        assert_red(&bad, section, field->name, 0);
        tried++;
        break;
    case MEMBER_TEXT:
        if (!judged_text(field))
            break;
        memset(member, 0, field->size);
        assert_red(&bad, section, field->name, 0);
        tried++;
        break;
    case FACT_MODE:
        break;
    }
    return tried;
}

static void test_each_fact_counts(void **state)
{
    (void)state;
    CLEANUP(recording_clear) struct recording green = recording_read("kvm-host.json");
    unsigned tried = 0;
    for (const struct record_section *section = record_sections; section->members; section++)
        for (const struct member *field = section->members; field->name; field++)
            if (!is_free(section->name, field))
                tried += spoil(section->name, field, &green);
    assert_true(tried > 200);

    struct recording bad = green;
    bad.facts.image.labels = NULL;
    assert_red(&bad, "image", "labels", 0);
    bad = green;
    bad.facts.tunnel = FACT_UNKNOWN; /* the one row that only warns */
    CLEANUP_REPORT struct report *report = replay(&bad);
    assert_true(report->ok);
}

/* The figures that are there and not enough. */
static void test_each_figure_counts(void **state)
{
    (void)state;
    CLEANUP(recording_clear) struct recording green = recording_read("kvm-host.json");
    static const struct {
        size_t offset;
        int64_t value;
        const char *name;
    } figures[] = {
#define FIGURE(member, value) {offsetof(struct facts, member), value, #member}
        FIGURE(kvm.loop_ns, 12000000),
        FIGURE(kvm.api_version, 11),
        FIGURE(capacity.cpus, 5),
        FIGURE(capacity.vcpu_given, 15),
        FIGURE(capacity.mem_free_mib, 4095),
        FIGURE(capacity.disk_free_mib, 4000),
        FIGURE(chassis.dmi_type, 9),  /* laptop */
        FIGURE(chassis.dmi_type, 31), /* convertible */
        FIGURE(chassis.dmi_type, 99), /* no such type */
        FIGURE(canary.uid, 0),
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        struct recording bad = green;
        *(int64_t *)((char *)&bad.facts + figures[i].offset) = figures[i].value;
        assert_red(&bad, "facts", figures[i].name, (long)figures[i].value);
    }
}

static void test_each_setting_counts(void **state)
{
    (void)state;
    CLEANUP(recording_clear) struct recording green = recording_read("kvm-host.json");
    static const struct {
        const char *key, *value;
    } settings[] = {
        {"class", "\"laptop\""},
        {"chassis", "\"unknown\""},
        {"chassis", "\"laptop\""},
        {"guest_os", "\"macos\""},
        {"bind", "\"0.0.0.0\""},
        {"bind", "\"192.0.2.7\""},
        {"egress", "\"default-allow\""},
        {"always_on", "false"},
        {"wired", "false"},
        {"image_digest", "null"},
        {"accel", "\"tcg\""},
        {"vcpu", "64"},
        {"mem_gib", "512"},
        {"image_digest", "\"0000000000000000000000000000000000000000000000000000000000000000\""},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        CLEANUP_JSON json_t *changed = json_deep_copy(green.document);
        json_object_set_new(json_object_get(changed, "config"), settings[i].key,
                            json_loads(settings[i].value, JSON_DECODE_ANY, NULL));
        CLEANUP(recording_clear) struct recording bad = recording_decode(changed);
        assert_red(&bad, settings[i].key, settings[i].value, 0);
    }
}

/* Nothing that the evaluation reads gets lost on the way. */
static void test_round_trip(void **state)
{
    (void)state;
    CLEANUP_JSON json_t *labels = green_labels();
    for (int i = 0; i < 2; i++) {
        struct config config = green_config();
        struct facts facts =
            i == 0 ? green_facts(labels) : (struct facts){.runtime.error = "a \"quoted\" word"};
        config.start_timeout_seconds = 60; /* a loaded configuration always has one */
        CLEANUP_JSON json_t *document = record_encode(&config, INTENT_PUBLIC, true, &facts);
        CLEANUP(recording_clear) struct recording recording = recording_decode(document);
        recording.facts.time_ms = facts.time_ms;
        CLEANUP_REPORT struct report *before = evaluate(&config, INTENT_PUBLIC, true, &facts);
        CLEANUP_REPORT struct report *after = replay(&recording);
        CLEANUP_JSON json_t *a = report_encode(before);
        CLEANUP_JSON json_t *b = report_encode(after);
        assert_true(json_equal(a, b));
        assert_int_equal(before->ok, i == 0);
    }
}

/* A settings file may name a home, a key may lie in one: neither is in the document. */
static void test_no_secret(void **state)
{
    (void)state;
    static char home[] = "/home/somebody/.berthos";
    struct config config = green_config();
    struct facts facts = {0};
    config.home = home;
    CLEANUP_JSON json_t *document = record_encode(&config, INTENT_PRIVATE, false, &facts);
    CLEANUP_FREE char *text = document_text(document);
    assert_null(strstr(text, "somebody"));
    assert_null(strstr(text, "PRIVATE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_green_host),         cmocka_unit_test(test_each_fact_counts),
        cmocka_unit_test(test_each_figure_counts), cmocka_unit_test(test_each_setting_counts),
        cmocka_unit_test(test_round_trip),         cmocka_unit_test(test_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
