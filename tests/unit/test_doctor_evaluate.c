/* The verdicts: each defect turns its row red with the sentence of it, nothing unknown is green. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "doctor/evaluate.h"
#include "doctor/simulate.h"
#include "doctor_fixture.h"

static json_t *labels;

static int setup(void **state)
{
    (void)state;
    labels = green_labels();
    return labels ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(labels);
    return 0;
}

static enum report_status row_status(const struct config *config, enum config_intent intent,
                                     const struct facts *facts, enum report_row row, bool *ok)
{
    CLEANUP_REPORT struct report *report = evaluate(config, intent, false, facts);
    *ok = report->ok;
    assert_non_null(report->checks[row].detail);
    return report->checks[row].status;
}

static void test_green(void **state)
{
    (void)state;
    struct config config = green_config();
    struct facts facts = green_facts(labels);
    for (int intent = INTENT_PRIVATE; intent <= INTENT_PUBLIC; intent++) {
        CLEANUP_REPORT struct report *report = evaluate(&config, (enum config_intent)intent, true, &facts);
        for (int row = 0; row < ROW_COUNT; row++)
            if (report->checks[row].status != STATUS_PASS)
                fail_msg("%s: %s", report_row_word((enum report_row)row), report->checks[row].detail);
        assert_true(report->ok);
        assert_string_equal(report->image_name, facts.image.name);
        assert_true(json_equal(report->labels, labels));
        assert_string_equal(report->node_id, GREEN_DIGEST);
        assert_string_equal(report->class_word, "dedicated-server");
    }
}

static void test_nothing_known(void **state)
{
    (void)state;
    struct config config = green_config();
    static const struct facts nothing;
    CLEANUP_REPORT struct report *report = evaluate(&config, INTENT_PUBLIC, false, &nothing);
    assert_false(report->ok);
    for (int row = 0; row < ROW_COUNT; row++) {
        bool by_configuration = row == ROW_BIND || row == ROW_GUEST_OS;
        enum report_status wanted = by_configuration    ? STATUS_PASS
                                    : row == ROW_TUNNEL ? STATUS_WARN
                                                        : STATUS_FAIL;
        if (report->checks[row].status != wanted)
            fail_msg("%s is %s: %s", report_row_word((enum report_row)row),
                     report_status_word(report->checks[row].status), report->checks[row].detail);
    }
    assert_null(report->image_name);
    assert_null(report->node_id);
}

/* --- one defect at a time -------------------------------------------------------------------------- */

struct scene {
    struct config config;
    struct facts facts;
};

#define DEFECT(name, ...)                                                                                    \
    static void name(struct scene *s)                                                                        \
    {                                                                                                        \
        __VA_ARGS__;                                                                                         \
    }

static char everywhere[] = "0.0.0.0", localhost[] = "localhost";

DEFECT(laptop_class, s->config.class = CLASS_LAPTOP)
DEFECT(unknown_class, s->config.class = (enum config_class)9)
DEFECT(no_identity, s->facts.identity.loaded = FACT_NO)
DEFECT(settings_changed, s->facts.identity.settings = FACT_NO)
DEFECT(settings_unknown, s->facts.identity.settings = FACT_UNKNOWN)
DEFECT(bind_all, s->config.bind = everywhere)
DEFECT(bind_name, s->config.bind = localhost)
DEFECT(bind_none, s->config.bind = NULL)
DEFECT(libvirt_down, s->facts.runtime.answers = FACT_NO)
DEFECT(no_emulator, s->facts.runtime.emulator[0] = '\0')
DEFECT(no_machine, s->facts.runtime.machine[0] = '\0')
DEFECT(no_video, s->facts.runtime.video = FACT_NO)
DEFECT(no_vnc, s->facts.runtime.graphics = FACT_UNKNOWN)
DEFECT(no_channel, s->facts.runtime.channel = FACT_NO)
DEFECT(no_cpu_model, s->facts.runtime.cpu = FACT_NO)
DEFECT(not_converted, s->facts.runtime.converts = FACT_UNKNOWN)
DEFECT(no_device, s->facts.kvm.device = FACT_NO)
DEFECT(no_flag, s->facts.kvm.cpu_flag = FACT_NO)
DEFECT(no_permission, s->facts.kvm.opens_for_qemu = FACT_NO)
DEFECT(old_api, s->facts.kvm.api_version = 11)
DEFECT(loop_not_run, s->facts.kvm.loop_ran = FACT_UNKNOWN)
DEFECT(loop_slow, s->facts.kvm.loop_ns = 500001)
DEFECT(loop_timeless, s->facts.kvm.loop_ns = 0)
DEFECT(unknown_accel, s->config.accel = (enum config_accel)7)
DEFECT(image_unknown, s->facts.image.state = IMAGE_STATE_UNKNOWN)
DEFECT(image_missing, s->facts.image.state = IMAGE_STATE_MISSING)
DEFECT(image_stale, s->facts.image.state = IMAGE_STATE_STALE)
DEFECT(image_tampered, s->facts.image.state = IMAGE_STATE_TAMPERED)
DEFECT(image_unreadable, s->facts.image.state = IMAGE_STATE_UNREADABLE)
DEFECT(image_beyond, s->facts.image.state = (enum image_state)42)
DEFECT(no_labels, s->facts.image.labels = NULL)
DEFECT(not_readable, s->facts.image.readable_by_qemu = FACT_NO)
DEFECT(reader_unknown, s->facts.image.readable_by_qemu = FACT_UNKNOWN)
DEFECT(default_allow, s->config.egress = EGRESS_DEFAULT_ALLOW)
DEFECT(not_inspected, s->facts.domain.inspected = FACT_NO)
DEFECT(few_cpus, s->facts.capacity.cpus = 3)
DEFECT(cpus_unknown, s->facts.capacity.cpus = 0)
DEFECT(given_unknown, s->facts.capacity.given_known = FACT_UNKNOWN)
DEFECT(large_shape, s->config.vcpu = 7)
DEFECT(overcommit_with_kvm, s->facts.capacity.cpus = 2; s->facts.capacity.vcpu_given = 2;
       s->config.vcpu_overcommit = 8)
DEFECT(little_memory, s->facts.capacity.mem_free_mib = 4095)
DEFECT(memory_unknown, s->facts.capacity.mem_free_mib = 0; s->facts.capacity.own_mem_mib = 100000)
DEFECT(large_memory_shape, s->config.mem_gib = 16)
DEFECT(disk_full, s->facts.capacity.disk_free_mib = 4095)
DEFECT(disk_unusable, strcpy(s->facts.capacity.disk_fault, "the file system of /x is read-only"))
/* 8 CPUs, 2 of them given; 16000 MiB; leases of 2 vCPU, 4 GiB and 40 GiB of disk */
DEFECT(berths_beyond_cpus, s->config.berths = 4; s->facts.capacity.mem_free_mib = 100000)
DEFECT(berths_beyond_memory, s->config.berths = 4; s->facts.capacity.cpus = 80)
DEFECT(berths_beyond_disk, s->config.berths = 2; s->facts.capacity.disk_free_mib = 8191)
DEFECT(states_beyond_disk, s->config.warm = WARM_DISK; s->facts.capacity.disk_free_mib = 9215)
DEFECT(one_state_beyond_disk, s->config.warm = WARM_DISK; s->config.berths = 2;
       s->facts.capacity.saved_states = 1; s->facts.capacity.disk_free_mib = 13311)
DEFECT(windows, s->config.guest_os = GUEST_OS_WINDOWS_PRO)
DEFECT(unknown_os, s->config.guest_os = (enum config_guest_os)17)

DEFECT(test_image, s->facts.image.test_only = FACT_YES)
DEFECT(not_pinned, s->config.image_digest = NULL)
DEFECT(canary_not_started, s->facts.canary.started = FACT_NO)
DEFECT(canary_left, s->facts.canary.gone = FACT_UNKNOWN)
DEFECT(canary_socket, s->facts.canary.no_sockets = FACT_NO)
DEFECT(software, s->config.accel = ACCEL_TCG)
DEFECT(chassis_unknown, s->config.chassis = CHASSIS_UNKNOWN)
DEFECT(chassis_laptop, s->config.chassis = CHASSIS_LAPTOP)
DEFECT(dmi_unknown, s->facts.chassis.dmi_type = 0)
DEFECT(dmi_notebook, s->facts.chassis.dmi_type = 10)
DEFECT(dmi_beyond, s->facts.chassis.dmi_type = 99)
DEFECT(has_battery, s->facts.chassis.battery = FACT_YES)
DEFECT(has_lid, s->facts.chassis.lid = FACT_YES)
DEFECT(lid_unknown, s->facts.chassis.lid = FACT_UNKNOWN)
DEFECT(virtual_server, s->facts.chassis.hypervisor = FACT_YES)
DEFECT(not_wired, s->config.wired = false)
DEFECT(not_always_on, s->config.always_on = false)
DEFECT(over_radio, s->facts.network.wireless = FACT_YES)
DEFECT(no_route, s->facts.network.wireless = FACT_UNKNOWN)
DEFECT(sleeps, s->facts.network.sleeps = FACT_YES)
DEFECT(sleep_unknown, s->facts.network.sleeps = FACT_UNKNOWN)
DEFECT(root_process, s->facts.canary.uid = 0)
DEFECT(no_process_label, s->facts.canary.labelled = FACT_NO)
DEFECT(no_filter, s->facts.canary.seccomp = FACT_NO)

/* For the rows that private intent judges by the configuration. */
DEFECT(root_label, s->facts.runtime.user_uid = 0; s->facts.canary.uid = 0)
DEFECT(no_driver, s->facts.runtime.security_models[0] = '\0'; s->facts.canary.labelled = FACT_NO)
DEFECT(no_sandbox, s->facts.domain.sandboxed = FACT_NO; s->facts.canary.seccomp = FACT_NO)

enum { PASS = STATUS_PASS, WARN = STATUS_WARN, FAIL = STATUS_FAIL };

static const struct {
    const char *name;
    void (*apply)(struct scene *s);
    enum report_row row;
    int in_private; /* what the row says then; in public intent it always fails */
} defects[] = {
#define CASE(defect, row, in_private)                                                                        \
    {                                                                                                        \
#defect, defect, row, in_private                                                                     \
    }
    CASE(laptop_class, ROW_CLASS, FAIL),
    CASE(unknown_class, ROW_CLASS, FAIL),
    CASE(no_identity, ROW_CLASS, FAIL),
    CASE(settings_changed, ROW_CLASS, FAIL),
    CASE(settings_unknown, ROW_CLASS, FAIL),
    CASE(bind_all, ROW_BIND, FAIL),
    CASE(bind_name, ROW_BIND, FAIL),
    CASE(bind_none, ROW_BIND, FAIL),
    CASE(libvirt_down, ROW_RUNTIME, FAIL),
    CASE(no_emulator, ROW_RUNTIME, FAIL),
    CASE(no_machine, ROW_RUNTIME, FAIL),
    CASE(no_video, ROW_RUNTIME, FAIL),
    CASE(no_vnc, ROW_RUNTIME, FAIL),
    CASE(no_channel, ROW_RUNTIME, FAIL),
    CASE(no_cpu_model, ROW_RUNTIME, FAIL),
    CASE(not_converted, ROW_RUNTIME, FAIL),
    CASE(no_device, ROW_KVM, FAIL),
    CASE(no_flag, ROW_KVM, FAIL),
    CASE(no_permission, ROW_KVM, FAIL),
    CASE(old_api, ROW_KVM, FAIL),
    CASE(loop_not_run, ROW_KVM, FAIL),
    CASE(loop_slow, ROW_KVM, FAIL),
    CASE(loop_timeless, ROW_KVM, FAIL),
    CASE(unknown_accel, ROW_KVM, FAIL),
    CASE(image_unknown, ROW_GUEST_IMAGE, FAIL),
    CASE(image_missing, ROW_GUEST_IMAGE, FAIL),
    CASE(image_stale, ROW_GUEST_IMAGE, FAIL),
    CASE(image_tampered, ROW_GUEST_IMAGE, FAIL),
    CASE(image_unreadable, ROW_GUEST_IMAGE, FAIL),
    CASE(image_beyond, ROW_GUEST_IMAGE, FAIL),
    CASE(no_labels, ROW_GUEST_IMAGE, FAIL),
    CASE(not_readable, ROW_GUEST_IMAGE, FAIL),
    CASE(reader_unknown, ROW_GUEST_IMAGE, FAIL),
    CASE(test_image, ROW_GUEST_IMAGE, PASS),
    CASE(not_pinned, ROW_GUEST_IMAGE, PASS),
    CASE(default_allow, ROW_EGRESS, FAIL),
    CASE(not_inspected, ROW_EGRESS, FAIL),
    CASE(canary_not_started, ROW_EGRESS, PASS),
    CASE(canary_left, ROW_EGRESS, PASS),
    CASE(canary_socket, ROW_EGRESS, PASS),
    CASE(few_cpus, ROW_CAPACITY, FAIL),
    CASE(cpus_unknown, ROW_CAPACITY, FAIL),
    CASE(given_unknown, ROW_CAPACITY, FAIL),
    CASE(large_shape, ROW_CAPACITY, FAIL),
    CASE(overcommit_with_kvm, ROW_CAPACITY, FAIL),
    CASE(little_memory, ROW_CAPACITY, FAIL),
    CASE(memory_unknown, ROW_CAPACITY, FAIL),
    CASE(large_memory_shape, ROW_CAPACITY, FAIL),
    CASE(disk_full, ROW_CAPACITY, FAIL),
    CASE(disk_unusable, ROW_CAPACITY, FAIL),
    CASE(berths_beyond_cpus, ROW_CAPACITY, FAIL),
    CASE(berths_beyond_memory, ROW_CAPACITY, FAIL),
    CASE(berths_beyond_disk, ROW_CAPACITY, FAIL),
    CASE(states_beyond_disk, ROW_CAPACITY, FAIL),
    CASE(one_state_beyond_disk, ROW_CAPACITY, FAIL),
    CASE(windows, ROW_GUEST_OS, FAIL),
    CASE(unknown_os, ROW_GUEST_OS, FAIL),
    CASE(software, ROW_KVM, WARN),
    CASE(chassis_unknown, ROW_CHASSIS, WARN),
    CASE(chassis_laptop, ROW_CHASSIS, WARN),
    CASE(dmi_unknown, ROW_CHASSIS, WARN),
    CASE(dmi_notebook, ROW_CHASSIS, WARN),
    CASE(dmi_beyond, ROW_CHASSIS, WARN),
    CASE(has_battery, ROW_CHASSIS, WARN),
    CASE(has_lid, ROW_CHASSIS, WARN),
    CASE(lid_unknown, ROW_CHASSIS, WARN),
    CASE(virtual_server, ROW_CHASSIS, WARN),
    CASE(not_wired, ROW_AVAILABILITY, WARN),
    CASE(not_always_on, ROW_AVAILABILITY, WARN),
    CASE(over_radio, ROW_AVAILABILITY, WARN),
    CASE(no_route, ROW_AVAILABILITY, WARN),
    CASE(sleeps, ROW_AVAILABILITY, WARN),
    CASE(sleep_unknown, ROW_AVAILABILITY, WARN),
    CASE(root_process, ROW_CONFINEMENT, PASS),
    CASE(no_process_label, ROW_CONFINEMENT, PASS),
    CASE(no_filter, ROW_CONFINEMENT, PASS),
    CASE(root_label, ROW_CONFINEMENT, WARN),
    CASE(no_driver, ROW_CONFINEMENT, WARN),
    CASE(no_sandbox, ROW_CONFINEMENT, WARN),
};

static void test_each_defect(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof defects / sizeof defects[0]; i++) {
        struct scene scene = {green_config(), green_facts(labels)};
        bool ok;
        defects[i].apply(&scene);
        enum report_status status =
            row_status(&scene.config, INTENT_PUBLIC, &scene.facts, defects[i].row, &ok);
        if (status != STATUS_FAIL || ok)
            fail_msg("%s in public: %s, ok %d", defects[i].name, report_status_word(status), ok);
        status = row_status(&scene.config, INTENT_PRIVATE, &scene.facts, defects[i].row, &ok);
        if ((int)status != defects[i].in_private || ok != (defects[i].in_private != FAIL))
            fail_msg("%s in private: %s, ok %d", defects[i].name, report_status_word(status), ok);
    }
}

static void test_wished_layers_only_warn(void **state)
{
    (void)state;
    struct scene scene = {green_config(), green_facts(labels)};
    bool ok;
    scene.facts.canary.own_mounts = FACT_UNKNOWN;
    assert_int_equal(row_status(&scene.config, INTENT_PUBLIC, &scene.facts, ROW_CONFINEMENT, &ok),
                     STATUS_WARN);
    assert_true(ok);
    scene.facts.tunnel = FACT_NO;
    assert_int_equal(row_status(&scene.config, INTENT_PUBLIC, &scene.facts, ROW_TUNNEL, &ok), STATUS_WARN);
    assert_true(ok);
}

static void confinement_says(const struct scene *scene, enum config_intent intent, bool deep,
                             enum report_status status, const char *words)
{
    static const char share[] = "share a user and nothing else";
    CLEANUP_REPORT struct report *report = evaluate(&scene->config, intent, deep, &scene->facts);
    const struct report_check *row = &report->checks[ROW_CONFINEMENT];
    if (row->status != status || !strstr(row->detail, words) ||
        (strcmp(words, share) != 0 && strstr(row->detail, share)))
        fail_msg("%s \"%s\" is not as in \"%s\"", report_status_word(row->status), row->detail, words);
}

/* Guests of several berths have users of their own, or labels, or the row says that nothing is between them.
 */
static void test_neighbours_are_kept_apart(void **state)
{
    (void)state;
    struct scene scene = {green_config(), green_facts(labels)};
    confinement_says(&scene, INTENT_PUBLIC, true, STATUS_PASS, "in its own mounts");
    scene.config.berths = 2;
    for (int deep = 0; deep < 2; deep++) {
        confinement_says(&scene, INTENT_PRIVATE, deep, STATUS_PASS, "share that user, and their labels keep");
        scene.facts.runtime.own_users = FACT_YES;
        confinement_says(&scene, INTENT_PRIVATE, deep, STATUS_PASS, "each berth's guest has such a user");
        scene.facts.runtime.own_users = FACT_UNKNOWN;
    }
    no_driver(&scene);
    static const char share[] = "share a user and nothing else";
    confinement_says(&scene, INTENT_PUBLIC, true, STATUS_FAIL, share);
    confinement_says(&scene, INTENT_PRIVATE, false, STATUS_WARN, share);
    scene.facts.runtime.own_users = FACT_YES;
    confinement_says(&scene, INTENT_PUBLIC, true, STATUS_FAIL, "label");
    confinement_says(&scene, INTENT_PRIVATE, false, STATUS_WARN, "driver");
    scene.facts.runtime.own_users = FACT_NO;
    scene.config.berths = 1;
    confinement_says(&scene, INTENT_PRIVATE, false, STATUS_WARN, "driver");
}

static void test_capacity_counts_own_guests_as_free(void **state)
{
    (void)state;
    struct scene scene = {green_config(), green_facts(labels)};
    bool ok;
    scene.facts.capacity.mem_free_mib = 3000;
    assert_int_equal(row_status(&scene.config, INTENT_PRIVATE, &scene.facts, ROW_CAPACITY, &ok), STATUS_FAIL);
    scene.facts.capacity.own_mem_mib = 1096;
    assert_int_equal(row_status(&scene.config, INTENT_PRIVATE, &scene.facts, ROW_CAPACITY, &ok), STATUS_PASS);
    scene.config.accel = ACCEL_TCG; /* emulated guests may share CPUs */
    scene.facts.capacity.cpus = 2;
    scene.facts.capacity.vcpu_given = 2;
    assert_int_equal(row_status(&scene.config, INTENT_PRIVATE, &scene.facts, ROW_CAPACITY, &ok), STATUS_FAIL);
    scene.config.vcpu_overcommit = 2;
    assert_int_equal(row_status(&scene.config, INTENT_PRIVATE, &scene.facts, ROW_CAPACITY, &ok), STATUS_PASS);
}

static void capacity_says(const struct scene *scene, const char *words)
{
    CLEANUP_REPORT struct report *report = evaluate(&scene->config, INTENT_PRIVATE, false, &scene->facts);
    const struct report_check *row = &report->checks[ROW_CAPACITY];
    if (row->status != STATUS_PASS || !strstr(row->detail, words))
        fail_msg("%s \"%s\" does not hold \"%s\"", report_status_word(row->status), row->detail, words);
}

static void test_capacity_of_all_berths(void **state)
{
    (void)state;
    struct scene scene = {green_config(), green_facts(labels)};
    struct capacity_facts *capacity = &scene.facts.capacity;
    capacity_says(&scene, "; 16000 MiB of memory free; 100000 MiB of disk free for overlays at "
                          "/var/lib/berthos; enough for a lease");
    scene.config.berths = 3;
    capacity_says(&scene, "enough for leases in 3 berths");
    /* two of them are taken, and the third has a guest that is ready: no free memory is needed */
    capacity->mem_free_mib = 300;
    capacity->own_mem_mib = 12000;
    capacity->own_leases = 2;
    capacity->spares = 1;
    capacity->spare_mem_mib = 900;
    capacity->disk_free_mib = 4096;
    capacity_says(&scene, "; 12300 MiB of memory free, with the 12000 MiB of this node's own guests (900 MiB "
                          "in 1 that waits for a lease);");
    /* with saved states their room is part of the disk's */
    capacity->disk_free_mib = 4096 + 2 * 5120;
    capacity->saved_states = 1;
    scene.config.warm = WARM_DISK;
    capacity_says(&scene, " for overlays and 2 saved states at ");
    capacity->saved_states = 3;
    capacity->disk_free_mib = 4096;
    capacity_says(&scene, " for overlays at ");
    /* where the host decides, a disk without room for them means that there are none */
    scene.config.warm = WARM_DEFAULT;
    capacity->saved_states = 0;
    capacity_says(&scene, " for overlays at ");
    capacity->disk_free_mib = 4096 + 3 * 5120;
    capacity_says(&scene, " for overlays and 3 saved states at ");
}

/* The sentence that helps is told from what can be read. */
static void test_kvm_wording(void **state)
{
    (void)state;
    static const struct {
        struct kvm_facts kvm;
        const char *words;
    } cases[] = {
        {{.device = FACT_NO, .cpu_flag = FACT_YES}, "modprobe"},
        {{.device = FACT_NO, .cpu_flag = FACT_YES, .module = FACT_YES}, "firmware"},
        {{.device = FACT_NO, .cpu_flag = FACT_NO, .virtual_host = FACT_YES}, "nested virtualization"},
        {{.device = FACT_NO, .cpu_flag = FACT_NO, .virtual_host = FACT_NO}, "firmware"},
        {{.device = FACT_YES, .opens_for_us = FACT_YES, .opens_for_qemu = FACT_NO, .group = "kvm"},
         "chgrp kvm /dev/kvm"},
        {{.device = FACT_YES, .opens_for_us = FACT_NO, .opens_for_qemu = FACT_NO, .group = "kvm"},
         "never chmod 666"},
        {{.device = FACT_YES,
          .cpu_flag = FACT_YES,
          .opens_for_us = FACT_YES,
          .opens_for_qemu = FACT_YES,
          .api_version = 12,
          .loop_ran = FACT_YES,
          .loop_turns = 10000,
          .loop_ns = 13570000},
         "13570 us, 1357 ns a turn"},
    };
    struct config config = green_config();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct facts facts = green_facts(labels);
        facts.kvm = cases[i].kvm;
        CLEANUP_REPORT struct report *report = evaluate(&config, INTENT_PRIVATE, false, &facts);
        assert_int_equal(report->checks[ROW_KVM].status, STATUS_FAIL);
        if (!strstr(report->checks[ROW_KVM].detail, cases[i].words))
            fail_msg("\"%s\" does not hold \"%s\"", report->checks[ROW_KVM].detail, cases[i].words);
    }
}

/* --- any facts ------------------------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static uint64_t draw(uint64_t bound) /* xorshift: the same sequence on every run */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % bound;
}

/* Mostly what is good, so that many draws differ from green in a few facts only. */
static enum fact any_fact(enum fact good)
{
    static const int values[] = {FACT_UNKNOWN, FACT_NO, FACT_YES, 3, -1, 77};
    return draw(10) ? good : (enum fact)values[draw(6)];
}

static int64_t any_number(int64_t good)
{
    static const int64_t values[] = {0, -1, 1, 2, INT64_MAX, INT64_MIN, 4096, 12};
    return draw(10) ? good : values[draw(8)];
}

static void spoil(struct scene *s)
{
    struct facts *f = &s->facts;
    enum fact *good_yes[] = {&f->identity.loaded,     &f->identity.settings,    &f->runtime.answers,
                             &f->runtime.video,       &f->runtime.graphics,     &f->runtime.channel,
                             &f->runtime.cpu,         &f->runtime.converts,     &f->runtime.user_known,
                             &f->kvm.device,          &f->kvm.cpu_flag,         &f->kvm.opens_for_us,
                             &f->kvm.opens_for_qemu,  &f->kvm.loop_ran,         &f->image.readable_by_qemu,
                             &f->domain.inspected,    &f->domain.sandboxed,     &f->canary.started,
                             &f->canary.gone,         &f->canary.uid_known,     &f->canary.seccomp,
                             &f->canary.no_new_privs, &f->canary.labelled,      &f->canary.own_mounts,
                             &f->canary.no_sockets,   &f->capacity.given_known, &f->tunnel};
    enum fact *good_no[] = {&f->image.test_only, &f->chassis.hypervisor, &f->chassis.battery,
                            &f->chassis.lid,     &f->network.wireless,   &f->network.sleeps};
    int64_t *numbers[] = {
        &f->runtime.user_uid, &f->kvm.api_version, &f->kvm.loop_turns,      &f->kvm.loop_ns,
        &f->canary.uid,       &f->capacity.cpus,   &f->capacity.vcpu_given, &f->capacity.disk_free_mib,
        &f->chassis.dmi_type};
    for (size_t i = 0; i < sizeof good_yes / sizeof good_yes[0]; i++)
        *good_yes[i] = any_fact(FACT_YES);
    for (size_t i = 0; i < sizeof good_no / sizeof good_no[0]; i++)
        *good_no[i] = any_fact(FACT_NO);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        *numbers[i] = any_number(*numbers[i]);
    f->image.state = draw(10) ? IMAGE_STATE_VERIFIED : (enum image_state)draw(9);
    f->capacity.mem_free_mib = draw(10) ? 16000 : (int64_t)draw(5000);
    f->capacity.own_leases = any_number(0);
    f->capacity.saved_states = any_number(0);
    s->config.berths = draw(4) ? 1 : (int64_t)draw(4) + 1;
    s->config.warm = (enum config_warm)draw(4);
    s->config.class = draw(10) ? CLASS_VM_GUEST : (enum config_class)draw(5);
    s->config.chassis = draw(10) ? CHASSIS_VM_HOST : (enum config_chassis)draw(6);
    s->config.guest_os = draw(20) ? GUEST_OS_LINUX : (enum config_guest_os)draw(6);
    s->config.egress = draw(20) ? EGRESS_DEFAULT_DENY : (enum config_egress)draw(4);
    s->config.accel = draw(4) ? ACCEL_KVM : (enum config_accel)draw(4);
    s->config.wired = draw(10) != 0;
    s->config.always_on = draw(10) != 0;
    if (draw(10) == 0)
        s->config.bind = everywhere;
    if (draw(10) == 0)
        s->config.image_digest = NULL;
}

/* What must hold where a report says ok, written down again and apart from the evaluation. */
static bool may_be_ok(const struct scene *s, bool is_public)
{
    const struct facts *f = &s->facts;
    const struct config *c = &s->config;
    bool always = (c->class == CLASS_VM_GUEST || c->class == CLASS_DEDICATED_SERVER) &&
                  f->identity.loaded == FACT_YES && f->identity.settings == FACT_YES &&
                  strcmp(c->bind, "127.0.0.1") == 0 && f->runtime.answers == FACT_YES &&
                  f->runtime.video == FACT_YES && f->runtime.graphics == FACT_YES &&
                  f->runtime.channel == FACT_YES && f->runtime.cpu == FACT_YES &&
                  f->runtime.converts == FACT_YES && f->image.state == IMAGE_STATE_VERIFIED &&
                  f->image.readable_by_qemu == FACT_YES && c->egress == EGRESS_DEFAULT_DENY &&
                  f->domain.inspected == FACT_YES && c->guest_os == GUEST_OS_LINUX &&
                  f->capacity.given_known == FACT_YES && f->capacity.cpus >= 2 &&
                  f->capacity.vcpu_given >= 0 && f->capacity.cpus - f->capacity.vcpu_given >= 2 * c->berths &&
                  f->capacity.mem_free_mib >= 4096 * c->berths && f->capacity.disk_free_mib >= 4096;
    bool kvm = c->accel == ACCEL_KVM && f->kvm.device == FACT_YES && f->kvm.cpu_flag == FACT_YES &&
               f->kvm.opens_for_qemu == FACT_YES && f->kvm.api_version == 12 && f->kvm.loop_ran == FACT_YES &&
               f->kvm.loop_turns > 0 && f->kvm.loop_ns > 0 && f->kvm.loop_ns / f->kvm.loop_turns <= 50;
    bool host = f->chassis.battery == FACT_NO && f->chassis.lid == FACT_NO &&
                (f->chassis.hypervisor == FACT_NO || f->chassis.hypervisor == FACT_YES) &&
                f->chassis.dmi_type >= 1 && f->chassis.dmi_type <= 36 &&
                (c->chassis == CHASSIS_SERVER || c->chassis == CHASSIS_VM_HOST) && c->wired && c->always_on &&
                f->network.wireless == FACT_NO && f->network.sleeps == FACT_NO;
    bool confined = f->canary.started == FACT_YES && f->canary.gone == FACT_YES &&
                    f->canary.uid_known == FACT_YES && f->canary.uid > 0 && f->canary.labelled == FACT_YES &&
                    f->canary.seccomp == FACT_YES && f->canary.no_sockets == FACT_YES;
    if (!is_public)
        return always && (kvm || c->accel == ACCEL_TCG);
    return always && kvm && host && confined && c->image_digest && f->image.test_only == FACT_NO;
}

static void test_no_combination_is_wrongly_ok(void **state)
{
    (void)state;
    int good = 0;
    for (int i = 0; i < 60000; i++) {
        struct scene scene = {green_config(), green_facts(labels)};
        if (draw(20))
            spoil(&scene);
        int intent = (int)draw(3); /* 2 is none */
        CLEANUP_REPORT struct report *report =
            evaluate(&scene.config, (enum config_intent)intent, draw(2) == 0, &scene.facts);
        bool red = false;
        for (int row = 0; row < ROW_COUNT; row++)
            red = red || report->checks[row].status == STATUS_FAIL;
        assert_false(report->ok && red);
        assert_false(report->ok && scene.config.class == CLASS_LAPTOP);
        assert_false(report->ok && intent == 2);
        if (report->ok && !may_be_ok(&scene, intent == INTENT_PUBLIC))
            fail_msg("draw %d is ok in intent %d and must not be", i, intent);
        good += report->ok;
    }
    assert_true(good > 1000); /* else the draws show nothing */
}

static void test_no_simulated_case_is_ok(void **state)
{
    (void)state;
    for (size_t k = 0; simulate_case(k); k++) {
        for (int i = 0; i < 1000; i++) {
            struct scene scene = {green_config(), green_facts(labels)};
            if (i > 4)
                spoil(&scene);
            scene.config.accel = i % 2 ? ACCEL_TCG : ACCEL_KVM;
            enum config_intent intent = i % 3 ? INTENT_PRIVATE : INTENT_PUBLIC;
            assert_true(simulate_apply(simulate_case(k), &scene.config, &intent, &scene.facts));
            CLEANUP_REPORT struct report *report = evaluate(&scene.config, intent, i % 5 == 0, &scene.facts);
            if (report->ok)
                fail_msg("%s is ok", simulate_case(k));
        }
    }
}

/* Each case turns the row red that its name speaks of, on an otherwise green host. */
static void test_simulated_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum report_row row;
    } cases[] = {{"laptop", ROW_CLASS},
                 {"missing-image", ROW_GUEST_IMAGE},
                 {"bind-all", ROW_BIND},
                 {"stale-labels", ROW_GUEST_IMAGE},
                 {"tampered-image", ROW_GUEST_IMAGE},
                 {"no-kvm", ROW_KVM},
                 {"emulated-kvm", ROW_KVM},
                 {"no-libvirt", ROW_RUNTIME},
                 {"low-memory", ROW_CAPACITY},
                 {"low-cpu", ROW_CAPACITY},
                 {"wifi", ROW_AVAILABILITY},
                 {"battery", ROW_CHASSIS},
                 {"unconfined", ROW_CONFINEMENT},
                 {"nic", ROW_EGRESS}};
    size_t count = 0;
    while (simulate_case(count))
        count++;
    assert_int_equal(count, sizeof cases / sizeof cases[0]);
    for (size_t i = 0; i < count; i++) {
        struct scene scene = {green_config(), green_facts(labels)};
        enum config_intent intent = INTENT_PRIVATE;
        assert_true(simulate_apply(cases[i].name, &scene.config, &intent, &scene.facts));
        bool ok;
        assert_int_equal(row_status(&scene.config, intent, &scene.facts, cases[i].row, &ok), STATUS_FAIL);
        assert_false(ok);
        if (strcmp(cases[i].name, "no-libvirt") == 0)
            continue; /* without libvirt hardly anything is known */
        CLEANUP_REPORT struct report *report = evaluate(&scene.config, intent, false, &scene.facts);
        for (int row = 0; row < ROW_COUNT; row++)
            if (row != (int)cases[i].row && report->checks[row].status == STATUS_FAIL)
                fail_msg("%s also turns %s red: %s", cases[i].name, report_row_word((enum report_row)row),
                         report->checks[row].detail);
    }
    struct scene scene = {green_config(), green_facts(labels)}, before = scene;
    enum config_intent intent = INTENT_PRIVATE;
    assert_false(simulate_apply("no-such-case", &scene.config, &intent, &scene.facts));
    assert_memory_equal(&scene, &before, sizeof scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_green),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_each_defect),
        cmocka_unit_test(test_wished_layers_only_warn),
        cmocka_unit_test(test_neighbours_are_kept_apart),
        cmocka_unit_test(test_capacity_counts_own_guests_as_free),
        cmocka_unit_test(test_capacity_of_all_berths),
        cmocka_unit_test(test_kvm_wording),
        cmocka_unit_test(test_no_combination_is_wrongly_ok),
        cmocka_unit_test(test_no_simulated_case_is_ok),
        cmocka_unit_test(test_simulated_rows),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
