/* The looks at this host: probes side by side where that helps. */
#include "doctor/examine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sync.h"
#include "config/home.h"
#include "config/identity.h"
#include "doctor/probe_canary.h"
#include "doctor/probe_capacity.h"
#include "doctor/probe_chassis.h"
#include "doctor/probe_domain.h"
#include "doctor/probe_image.h"
#include "doctor/probe_kvm.h"
#include "doctor/probe_network.h"
#include "doctor/probe_runtime.h"
#include "doctor/room.h"

/* Under this much the idle share means nothing: the kernel counts in ticks of up to 10 ms. */
/* A host whose cores are all busy takes seconds to list its guests: that alone turns no row red. */
enum { IDLE_SAMPLE_MS = 100, LIST_TIMEOUT_MS = 5000 };

/* One full look under way. */
struct full_look {
    const struct examine_options *options;
    struct examination *result;
    struct hypervisor_facts found;
    struct image_facts image_facts; /* the image thread's own; joined before it is read */
    struct probe_cpu_sample first_sample;
    int64_t first_sample_ms;
};

static void *run_image(void *argument)
{
    struct full_look *look = argument;
    look->result->image = probe_image(look->options->config, look->options->progress,
                                      look->options->progress_context, &look->image_facts);
    return NULL;
}

static void check_settings(const struct config *config, struct identity_facts *facts)
{
    struct error err = ERROR_INIT;
    facts->settings = config_check_unchanged(config, &err) == 0 ? FACT_YES : FACT_NO;
    PROBE_COPY(facts->settings_error, err.text);
}

static void load_identity(struct full_look *look)
{
    struct identity_facts *facts = &look->result->facts.identity;
    const char *home = look->options->config->home;
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

static const char *known_id(const struct full_look *look)
{
    return look->result->facts.identity.loaded == FACT_YES ? look->result->facts.identity.node_id : NULL;
}

static void measure_capacity(struct full_look *look)
{
    struct capacity_facts *facts = &look->result->facts.capacity;
    bool answers = look->result->facts.runtime.answers == FACT_YES;
    room_look(look->options->config, answers ? look->options->hypervisor : NULL, known_id(look),
              LIST_TIMEOUT_MS, facts);
    int64_t passed_ms = clock_monotonic_ms() - look->first_sample_ms;
    if (passed_ms < IDLE_SAMPLE_MS)
        clock_sleep_ms(IDLE_SAMPLE_MS - passed_ms);
    struct probe_cpu_sample now = probe_cpu_sample(&probe_roots_host), *first = &look->first_sample;
    facts->idle_permille = -1;
    if (now.known && first->known && now.total > first->total && now.idle >= first->idle)
        facts->idle_permille = (int64_t)((now.idle - first->idle) * 1000 / (now.total - first->total));
}

/* What needs libvirt's answer or the image. */
static void probe_guests(struct full_look *look)
{
    const struct config *config = look->options->config;
    struct hypervisor *hypervisor = look->options->hypervisor;
    struct facts *facts = &look->result->facts;
    if (look->result->image)
        probe_image_readable(look->result->image, &look->result->user, &facts->image);
    probe_domain(hypervisor, config, known_id(look), look->result->image, &look->found, facts);
    if (look->options->canary)
        probe_canary(hypervisor, config, known_id(look), look->result->image, &look->found, &facts->canary);
}

static void take_full_look(struct full_look *look)
{
    const struct config *config = look->options->config;
    struct hypervisor *hypervisor = look->options->hypervisor;
    struct facts *facts = &look->result->facts;
    struct error err = ERROR_INIT;
    struct probe_users users = {0};
    pthread_t image_thread;
    load_identity(look);
    check_settings(config, &facts->identity);
    look->first_sample = probe_cpu_sample(&probe_roots_host);
    look->first_sample_ms = clock_monotonic_ms();
    bool threaded = sync_thread_start(&image_thread, "doctor-image", run_image, look, &err) == 0;
    probe_chassis(&probe_roots_host, &facts->chassis);
    probe_network(&probe_roots_host, &facts->network);
    facts->tunnel = probe_program(getenv("PATH"), "cloudflared");
    if (hypervisor)
        probe_runtime(hypervisor, config, known_id(look), &look->found, &users, facts);
    look->result->user = users.now;
    probe_kvm(&probe_roots_host, &users.kvm, &facts->kvm);
    if (threaded)
        pthread_join(image_thread, NULL);
    else
        run_image(look);
    facts->image = look->image_facts;
    if (hypervisor)
        probe_guests(look);
    measure_capacity(look);
    probe_capacity_entered(&look->result->user, &facts->capacity);
    facts->time_ms = clock_realtime_ms();
}

void examine(const struct examine_options *options, struct examination *examination)
{
    struct full_look look = {.options = options, .result = examination};
    if (options->hypervisor)
        hypervisor_hold(options->hypervisor);
    take_full_look(&look);
    if (options->hypervisor)
        hypervisor_release(options->hypervisor);
    hypervisor_facts_clear(&look.found);
}

void examination_clear(struct examination *examination)
{
    image_free(examination->image);
    *examination = (struct examination){0};
}

static void count_again(const struct config *config, struct hypervisor *hypervisor, const char *node,
                        struct facts *facts)
{
    struct error err = ERROR_INIT;
    struct capacity_facts *capacity = &facts->capacity;
    *capacity = (struct capacity_facts){.idle_permille = capacity->idle_permille};
    if (hypervisor_vcpu_given(hypervisor, node, LIST_TIMEOUT_MS, &capacity->vcpu_given, &err) < 0) {
        facts->runtime.answers = FACT_NO;
        PROBE_COPY(facts->runtime.error, err.text);
        hypervisor = NULL; /* it is not asked a second time */
    } else {
        capacity->given_known = FACT_YES;
    }
    room_look(config, hypervisor, node, LIST_TIMEOUT_MS, capacity);
}

bool examine_moment(const struct config *config, struct hypervisor *hypervisor,
                    const struct examination *examination, struct facts *facts)
{
    struct error err = ERROR_INIT;
    const char *node = facts->identity.loaded == FACT_YES ? facts->identity.node_id : NULL;
    if (!examination->image || image_recheck(examination->image, &err) < 0)
        return false;
    probe_image_readable(examination->image, &examination->user, &facts->image);
    check_settings(config, &facts->identity);
    count_again(config, hypervisor, node, facts);
    probe_capacity_entered(&examination->user, &facts->capacity);
    facts->chassis = (struct chassis_facts){0};
    facts->network = (struct network_facts){0};
    probe_chassis(&probe_roots_host, &facts->chassis);
    probe_network(&probe_roots_host, &facts->network);
    facts->time_ms = clock_realtime_ms();
    return true;
}

const struct member examine_identity_members[] = {
    FACT_IS(identity, loaded),   FACT_SAYS(identity, node_id),        FACT_SAYS(identity, error),
    FACT_IS(identity, settings), FACT_SAYS(identity, settings_error), FACT_ROWS_END,
};
const struct member examine_tunnel_members[] = {
    {"tunnel", MEMBER_WORD, MEMBER_AT(struct facts, tunnel), .words = fact_words},
    FACT_ROWS_END,
};
