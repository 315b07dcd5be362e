#include "doctor/simulate.h"

#include <stdio.h>
#include <string.h>

struct scene {
    struct config *config;
    enum config_intent *intent;
    struct facts *facts;
};

static void be_laptop(struct scene *scene)
{
    scene->config->class = CLASS_LAPTOP;
    scene->config->chassis = CHASSIS_LAPTOP;
    scene->facts->chassis.dmi_type = 10;
}

static void lose_image(struct scene *scene, enum image_state state, const char *error)
{
    struct image_facts *image = &scene->facts->image;
    *image = (struct image_facts){.state = state};
    snprintf(image->error, sizeof image->error, "%s (simulated)", error);
}

static void miss_image(struct scene *scene)
{
    lose_image(scene, IMAGE_STATE_MISSING, "its manifest is not there: run berth image build");
}

static void spoil_labels(struct scene *scene)
{
    lose_image(scene, IMAGE_STATE_STALE,
               "the label berthos.guest.version is \"v0\", it must be \"v1\": run berth image build");
}

static void tamper_image(struct scene *scene)
{
    lose_image(scene, IMAGE_STATE_TAMPERED, "the disk's sha256 is not its manifest's: run berth image build");
}

static void bind_everywhere(struct scene *scene)
{
    static char everywhere[] = "0.0.0.0";
    scene->config->bind = everywhere;
}

static void lose_kvm(struct scene *scene)
{
    scene->config->accel = ACCEL_KVM;
    scene->facts->kvm = (struct kvm_facts){.device = FACT_NO,
                                           .cpu_flag = FACT_NO,
                                           .module = FACT_NO,
                                           .virtual_host = scene->facts->kvm.virtual_host};
}

static void emulate_kvm(struct scene *scene)
{
    scene->config->accel = ACCEL_KVM;
    scene->facts->kvm = (struct kvm_facts){.device = FACT_YES,
                                           .cpu_flag = FACT_YES,
                                           .module = FACT_YES,
                                           .virtual_host = FACT_YES,
                                           .opens_for_us = FACT_YES,
                                           .opens_for_qemu = FACT_YES,
                                           .group = "kvm",
                                           .mode = 0660,
                                           .api_version = 12,
                                           .loop_ran = FACT_YES,
                                           .loop_turns = 10000,
                                           .loop_ns = 13570000};
}

static void lose_libvirt(struct scene *scene)
{
    struct facts *facts = scene->facts;
    facts->runtime = (struct runtime_facts){.answers = FACT_NO, .error = "simulated"};
    facts->domain = (struct domain_facts){.error = "libvirt does not answer"};
    facts->canary = (struct canary_facts){.error = "libvirt does not answer"};
    facts->image.readable_by_qemu = FACT_UNKNOWN;
    facts->kvm.opens_for_qemu = FACT_UNKNOWN;
    facts->capacity.given_known = FACT_UNKNOWN;
}

static void lower_memory(struct scene *scene)
{
    scene->facts->capacity.mem_free_mib = 512;
    scene->facts->capacity.own_mem_mib = 0;
}

static void lower_cpu(struct scene *scene)
{
    struct capacity_facts *capacity = &scene->facts->capacity;
    *capacity = (struct capacity_facts){.cpus = 1,
                                        .given_known = FACT_YES,
                                        .vcpu_given = 1,
                                        .idle_permille = capacity->idle_permille,
                                        .mem_free_mib = capacity->mem_free_mib,
                                        .disk_free_mib = capacity->disk_free_mib};
    scene->config->vcpu_overcommit = 1;
}

static void use_wifi(struct scene *scene)
{
    *scene->intent = INTENT_PUBLIC;
    scene->facts->network.wireless = FACT_YES;
    snprintf(scene->facts->network.device, FACT_WORD, "wlan0 (simulated)");
}

static void add_battery(struct scene *scene)
{
    *scene->intent = INTENT_PUBLIC;
    scene->facts->chassis.battery = FACT_YES;
    snprintf(scene->facts->chassis.battery_name, FACT_WORD, "BAT0, simulated");
}

static void lift_confinement(struct scene *scene)
{
    *scene->intent = INTENT_PUBLIC;
    scene->facts->runtime.security_models[0] = '\0';
    scene->facts->canary.labelled = FACT_NO;
}

static void add_nic(struct scene *scene)
{
    scene->facts->domain = (struct domain_facts){
        .inspected = FACT_NO, .error = "its XML has an <interface> element, which no lease has (simulated)"};
    scene->facts->canary.started = FACT_NO;
}

#define ROW(name, function)                                                                                  \
    {                                                                                                        \
        name, function                                                                                       \
    }
#define COMMA ,
static const struct {
    const char *name;
    void (*apply)(struct scene *scene);
} cases[] = {SIMULATE_CASES(ROW, COMMA)};

enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

const char *simulate_case(size_t index)
{
    return index < CASE_COUNT ? cases[index].name : NULL;
}

bool simulate_apply(const char *name, struct config *config, enum config_intent *intent, struct facts *facts)
{
    struct scene scene = {config, intent, facts};
    for (size_t i = 0; i < CASE_COUNT; i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].apply(&scene);
            return true;
        }
    return false;
}
