/* Facts of an imagined host on which everything is as public intent wants it. No such host was seen: see
 * docs/ELIGIBILITY.md. */
#ifndef BERTHOS_TESTS_DOCTOR_FIXTURE_H
#define BERTHOS_TESTS_DOCTOR_FIXTURE_H

#include <string.h>

#include "config/config.h"
#include "doctor/facts.h"
#include "protocol/labels.h"

#define GREEN_DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static inline struct config green_config(void)
{
    static char home[] = "/nonexistent", bind[] = "127.0.0.1", image[] = "berthos-linux-desktop:v1",
                state_dir[] = "/var/lib/berthos", image_dir[] = "/var/lib/berthos/images",
                digest[] = GREEN_DIGEST, uri[] = "qemu:///system";
    return (struct config){
        .home = home,
        .class = CLASS_DEDICATED_SERVER,
        .chassis = CHASSIS_SERVER,
        .intent = INTENT_PUBLIC,
        .guest_os = GUEST_OS_LINUX,
        .bind = bind,
        .port = 7432,
        .egress = EGRESS_DEFAULT_DENY,
        .always_on = true,
        .wired = true,
        .image = image,
        .state_dir = state_dir,
        .image_dir = image_dir,
        .image_digest = digest,
        .berths = 1,
        .vcpu_overcommit = 1,
        .libvirt_uri = uri,
        .accel = ACCEL_KVM,
        .vcpu = 2,
        .mem_gib = 4,
        .disk_gib = 40,
    };
}

/* labels: borrowed by the facts. */
static inline struct facts green_facts(const json_t *labels)
{
    return (struct facts){
        .time_ms = INT64_C(1769903999123),
        .identity = {.loaded = FACT_YES, .node_id = GREEN_DIGEST, .settings = FACT_YES},
        .runtime = {.answers = FACT_YES,
                    .libvirt_version = 9000000,
                    .qemu_version = 7002022,
                    .arch = "x86_64",
                    .emulator = "/usr/bin/qemu-system-x86_64",
                    .machine = "pc-q35-7.2",
                    .video = FACT_YES,
                    .graphics = FACT_YES,
                    .channel = FACT_YES,
                    .cpu = FACT_YES,
                    .converts = FACT_YES,
                    .security_models = "apparmor dac",
                    .user_known = FACT_YES,
                    .user_uid = 64055,
                    .user = "libvirt-qemu (uid 64055)",
                    .own_users = FACT_NO},
        .kvm = {.device = FACT_YES,
                .cpu_flag = FACT_YES,
                .module = FACT_YES,
                .virtual_host = FACT_NO,
                .opens_for_us = FACT_YES,
                .opens_for_qemu = FACT_YES,
                .user = "libvirt-qemu (uid 64055)",
                .group = "kvm",
                .mode = 0660,
                .api_version = 12,
                .loop_ran = FACT_YES,
                .loop_turns = 10000,
                .loop_ns = 9000},
        .image = {.state = IMAGE_STATE_VERIFIED,
                  .name = "berthos-linux-desktop:v1",
                  .manifest_sha256 = GREEN_DIGEST,
                  .labels = labels,
                  .test_only = FACT_NO,
                  .readable_by_qemu = FACT_YES},
        .domain = {.inspected = FACT_YES, .sandboxed = FACT_YES},
        .canary = {.started = FACT_YES,
                   .gone = FACT_YES,
                   .uid_known = FACT_YES,
                   .uid = 64055,
                   .seccomp = FACT_YES,
                   .no_new_privs = FACT_YES,
                   .labelled = FACT_YES,
                   .label = "libvirt-0a (enforce)",
                   .own_mounts = FACT_YES,
                   .no_sockets = FACT_YES,
                   .took_ms = 500},
        .capacity = {.cpus = 8,
                     .given_known = FACT_YES,
                     .vcpu_given = 2,
                     .idle_permille = 900,
                     .mem_free_mib = 16000,
                     .disk_free_mib = 100000,
                     .disk_path = "/var/lib/berthos"},
        .chassis = {.dmi_type = 23,
                    .product = "a rack server",
                    .hypervisor = FACT_NO,
                    .battery = FACT_NO,
                    .lid = FACT_NO},
        .network = {.wireless = FACT_NO, .device = "eno1", .sleeps = FACT_NO},
        .tunnel = FACT_YES,
    };
}

static inline json_t *green_labels(void)
{
    return json_pack("{s:s, s:s, s:s}", LABEL_VERSION_KEY, LABEL_VERSION, LABEL_DESKTOP_KEY, LABEL_DESKTOP,
                     LABEL_EGRESS_KEY, LABEL_EGRESS);
}

#endif
