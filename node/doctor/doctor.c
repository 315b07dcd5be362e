/* One examination: probes side by side where that helps, then the judgement. */
#include "doctor/doctor.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/sync.h"
#include "base/text.h"
#include "config/identity.h"
#include "doctor/evaluate.h"
#include "doctor/probe.h"
#include "doctor/record.h"
#include "doctor/simulate.h"

/* Under this much the idle share means nothing: the kernel counts in ticks of up to 10 ms. */
enum { IDLE_SAMPLE_MS = 100 };

struct examination {
    const struct doctor_options *options;
    struct facts facts;
    struct probe_user user;
    struct hypervisor_facts found;
    struct image_facts image_facts; /* the image thread's own; joined before it is read */
    struct image *image;
    struct probe_cpu_sample first_sample;
    int64_t first_sample_ms;
};

static void *run_image(void *argument)
{
    struct examination *examination = argument;
    examination->image = probe_image(examination->options, &examination->image_facts);
    return NULL;
}

static void load_identity(struct examination *examination)
{
    struct identity_facts *facts = &examination->facts.identity;
    const char *home = examination->options->config->home;
    struct identity identity;
    struct error err = ERROR_INIT;
    if (config_make_home(home, &err) < 0 || identity_load(home, &identity, &err) < 0) {
        facts->loaded = FACT_NO;
        PROBE_COPY(facts->error, err.text);
        return;
    }
    facts->loaded = FACT_YES;
    PROBE_COPY(facts->node_id, identity.node_id);
}

static const char *node_id(const struct examination *examination)
{
    return examination->facts.identity.loaded == FACT_YES ? examination->facts.identity.node_id : NULL;
}

static void measure_capacity(struct examination *examination)
{
    struct capacity_facts *facts = &examination->facts.capacity;
    CLEANUP_FREE char *overlays = file_join(examination->options->config->state_dir, "overlays");
    probe_capacity(&probe_roots_host, overlays, facts);
    const struct doctor_own *own = &examination->options->own;
    if (own->mem_mib > 0)
        facts->own_mem_mib = own->mem_mib;
    facts->own_vcpu = own->vcpu;

    int64_t passed_ms = clock_monotonic_ms() - examination->first_sample_ms;
    if (passed_ms < IDLE_SAMPLE_MS)
        clock_sleep_ms(IDLE_SAMPLE_MS - passed_ms);
    struct probe_cpu_sample now = probe_cpu_sample(&probe_roots_host), *first = &examination->first_sample;
    facts->idle_permille = -1;
    if (now.known && first->known && now.total > first->total && now.idle >= first->idle)
        facts->idle_permille = (int64_t)((now.idle - first->idle) * 1000 / (now.total - first->total));
}

/* What needs libvirt's answer or the image. */
static void probe_guests(struct examination *examination, struct hypervisor *hypervisor, bool canary)
{
    const struct config *config = examination->options->config;
    struct facts *facts = &examination->facts;
    if (examination->image)
        probe_image_readable(examination->image, &examination->user, &facts->image);
    probe_domain(hypervisor, config, node_id(examination), examination->image, &examination->found, facts);
    if (canary)
        probe_canary(hypervisor, config, node_id(examination), examination->image, &examination->found,
                     &facts->canary);
}

static void examine(struct examination *examination, struct hypervisor *hypervisor, bool canary)
{
    const struct config *config = examination->options->config;
    struct facts *facts = &examination->facts;
    struct error err = ERROR_INIT;
    pthread_t image_thread;
    load_identity(examination);
    examination->first_sample = probe_cpu_sample(&probe_roots_host);
    examination->first_sample_ms = clock_monotonic_ms();
    bool threaded = sync_thread_start(&image_thread, "doctor-image", run_image, examination, &err) == 0;
    probe_chassis(&probe_roots_host, &facts->chassis);
    probe_network(&probe_roots_host, &facts->network);
    facts->tunnel = probe_program(getenv("PATH"), "cloudflared");
    if (hypervisor)
        probe_runtime(hypervisor, config, node_id(examination), &examination->found, &examination->user,
                      facts);
    probe_kvm(&probe_roots_host, &examination->user, &facts->kvm);
    if (threaded)
        pthread_join(image_thread, NULL);
    else
        run_image(examination);
    facts->image = examination->image_facts;
    if (hypervisor)
        probe_guests(examination, hypervisor, canary);
    measure_capacity(examination);
    facts->time_ms = clock_realtime_ms();
}

static int unknown_case(const char *name, struct error *err)
{
    char list[512] = "";
    for (const char *const *known = simulate_cases(); *known; known++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", *known);
    return error_set(err, ERROR_BAD_REQUEST, "there is no case \"%.64s\" to simulate; known are: %s", name,
                     list);
}

/* The intent that will be judged: some cases are of public intent alone, and then want its canary too. */
static int judged_intent(const struct doctor_options *options, enum config_intent *intent, struct error *err)
{
    struct config scratch_config = *options->config;
    struct facts scratch = {0};
    *intent = options->intent;
    if (options->simulate && !simulate_apply(options->simulate, &scratch_config, intent, &scratch))
        return unknown_case(options->simulate, err);
    return 0;
}

struct report *doctor_run(const struct doctor_options *options, struct error *err)
{
    enum config_intent intent;
    if (judged_intent(options, &intent, err) < 0)
        return NULL;
    struct examination examination = {.options = options};
    struct error reason = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *own = NULL;
    struct hypervisor *hypervisor = options->hypervisor;
    if (!hypervisor)
        hypervisor = own = hypervisor_new(options->config->libvirt_uri, &reason);
    PROBE_COPY(examination.facts.runtime.error, reason.text);
    bool canary = options->deep || intent != INTENT_PRIVATE;
    if (hypervisor)
        hypervisor_hold(hypervisor);
    examine(&examination, hypervisor, canary);
    if (hypervisor)
        hypervisor_release(hypervisor);

    if (options->recording)
        *options->recording = record_encode(options->config, intent, canary, &examination.facts);
    struct config config = *options->config; /* shallow: a simulated case changes fields, never frees them */
    if (options->simulate)
        simulate_apply(options->simulate, &config, &intent, &examination.facts);
    struct report *report = evaluate(&config, intent, options->deep, &examination.facts);
    image_free(examination.image);
    hypervisor_facts_clear(&examination.found);
    return report;
}
