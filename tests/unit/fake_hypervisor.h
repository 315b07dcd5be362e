/*
 * A hypervisor for tests, in this process: it takes the place of guest/ (but for names and specs), of the
 * image, its overlays and the doctor, by defining their functions. Domains live in a table, each display is a
 * fake_rfb.h. It fails by chance where it is told to, and ends the test at once when something is asked of it
 * that must never be: a second domain of one berth above all.
 */
#ifndef BERTHOS_TESTS_FAKE_HYPERVISOR_H
#define BERTHOS_TESTS_FAKE_HYPERVISOR_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "doctor/eligibility.h"
#include "doctor/room.h"
#include "fake_rfb.h"
#include "guest/agent.h"
#include "guest/guest.h"
#include "guest/helper.h"
#include "guest/owned.h"
#include "guest/reinspect.h"
#include "guest/save.h"
#include "guest/start.h"
#include "image/image.h"
#include "image/overlay.h"

#define FAKE_WIDTH   64
#define FAKE_HEIGHT  48
#define FAKE_DOMAINS 8
#define FAKE_CLIENTS 64

struct fake_domain {
    bool there, paused;
    bool restored; /* from a saved state */
    int run;
    char uuid[37];
    char name[GUEST_NAME_SIZE];
    char lease_id[80];
    char node_id[80];
    struct fake *displays[FAKE_CLIENTS];
    size_t display_count;
};

/* What a test may set, and see. */
static struct {
    pthread_mutex_t mutex; /* guards all below but the atomics */
    struct fake_domain domains[FAKE_DOMAINS];
    struct guest_watcher watcher;
    unsigned seed;
    int runs;                            /* of domains, so far */
    atomic_int holds;                    /* hypervisor_hold() less hypervisor_release() */
    atomic_int start_faults;             /* of a hundred starts, how many fail */
    atomic_int destroy_faults;           /* of a hundred */
    atomic_int agent_faults;             /* of a hundred */
    atomic_int save_faults;              /* of a hundred */
    atomic_int restore_faults;           /* of a hundred */
    atomic_int starts, destroys, faults; /* counts; a restore is a start too */
    atomic_int saves, restores, claims;
} fake_host = {.mutex = PTHREAD_MUTEX_INITIALIZER, .seed = 1};

/* Whether a fault of so many in a hundred happens now. */
static bool fake_chance(int percent)
{
    LOCK_SCOPE(&fake_host.mutex);
    bool happens = (int)(rand_r(&fake_host.seed) % 100) < percent;
    fake_host.faults += happens;
    return happens;
}

/* With the mutex held. */
static struct fake_domain *fake_find(const char *uuid)
{
    for (size_t i = 0; i < FAKE_DOMAINS; i++)
        if (fake_host.domains[i].there && strcmp(fake_host.domains[i].uuid, uuid) == 0)
            return &fake_host.domains[i];
    return NULL;
}

/* With the mutex held: the domain of the handle's run. */
static struct fake_domain *fake_domain_of(const struct guest *guest)
{
    struct fake_domain *domain = fake_find(guest->uuid);
    return domain && (guest->run == GUEST_ANY_RUN || guest->run == domain->run) ? domain : NULL;
}

static size_t fake_domain_count(void)
{
    size_t count = 0;
    LOCK_SCOPE(&fake_host.mutex);
    for (size_t i = 0; i < FAKE_DOMAINS; i++)
        count += fake_host.domains[i].there;
    return count;
}

void hypervisor_hold(struct hypervisor *hypervisor)
{
    (void)hypervisor;
    fake_host.holds++;
}

void hypervisor_release(struct hypervisor *hypervisor)
{
    (void)hypervisor;
    if (--fake_host.holds < 0)
        abort();
}

int hypervisor_facts(struct hypervisor *hypervisor, bool kvm, const char *node_id, int64_t timeout_ms,
                     struct hypervisor_facts *facts, struct error *err)
{
    (void)hypervisor, (void)kvm, (void)node_id, (void)timeout_ms, (void)err;
    *facts = (struct hypervisor_facts){.emulator = text_copy("/bin/false"), .machine = text_copy("q35")};
    return 0;
}

void hypervisor_facts_clear(struct hypervisor_facts *facts)
{
    free(TAKE(facts->emulator));
    free(TAKE(facts->machine));
}

static void fake_begin(struct guest *guest, const struct guest_spec *spec, bool paused, bool restored)
{
    LOCK_SCOPE(&fake_host.mutex);
    if (fake_find(spec->uuid))
        abort(); /* two guests of one berth */
    if (access(spec->overlay, F_OK) != 0)
        abort(); /* a guest without its disk */
    if (spec->golden && access(spec->golden, F_OK) != 0)
        abort(); /* and what it lies on */
    size_t free_slot = 0;
    while (free_slot < FAKE_DOMAINS && fake_host.domains[free_slot].there)
        free_slot++;
    if (free_slot == FAKE_DOMAINS)
        abort();
    struct fake_domain *domain = &fake_host.domains[free_slot];
    *domain =
        (struct fake_domain){.there = true, .paused = paused, .restored = restored, .run = ++fake_host.runs};
    guest->run = domain->run;
    snprintf(domain->uuid, sizeof domain->uuid, "%s", spec->uuid);
    snprintf(domain->name, sizeof domain->name, "%s", spec->name);
    snprintf(domain->lease_id, sizeof domain->lease_id, "%s", spec->lease_id);
    snprintf(domain->node_id, sizeof domain->node_id, "%s", spec->node_id);
    fake_host.starts++;
}

int guest_start(struct guest *guest, const struct guest_spec *spec, bool paused, int64_t timeout_ms,
                struct error *err)
{
    (void)timeout_ms;
    if (fake_chance(fake_host.start_faults))
        return error_set(err, ERROR_GUEST_FAILED, "the fake start failed");
    fake_begin(guest, spec, paused, false);
    return 0;
}

/* A restore of what no fake save wrote ends the test: that would be another guest's, or none. */
int guest_restore(struct guest *guest, const struct guest_spec *spec, const char *state, int64_t timeout_ms,
                  struct error *err)
{
    (void)timeout_ms;
    CLEANUP_FREE char *uuid = NULL;
    struct error missing = ERROR_INIT;
    if (file_read(state, 64, &uuid, NULL, &missing) < 0 || strcmp(uuid, spec->uuid) != 0 || !spec->golden)
        abort();
    if (fake_chance(fake_host.restore_faults))
        return error_set(err, ERROR_GUEST_FAILED, "the fake restore failed");
    fake_begin(guest, spec, false, true);
    fake_host.restores++;
    return 0;
}

/* Ends a domain as a power-off does: its displays close, the watcher is told. */
static bool fake_end(const struct guest *guest)
{
    struct fake *displays[FAKE_CLIENTS];
    size_t count = 0;
    pthread_mutex_lock(&fake_host.mutex);
    struct guest_watcher watcher = fake_host.watcher;
    struct fake_domain *domain = fake_domain_of(guest);
    if (domain) {
        count = domain->display_count;
        memcpy(displays, domain->displays, count * sizeof displays[0]);
        domain->there = false;
    }
    pthread_mutex_unlock(&fake_host.mutex);
    for (size_t i = 0; i < count; i++)
        fake_stop(displays[i]);
    if (domain && watcher.gone)
        watcher.gone(watcher.context, guest->uuid);
    return domain;
}

static void fake_power_off(const char *uuid)
{
    struct guest guest = guest_any_run(NULL, uuid);
    fake_end(&guest);
}

int guest_destroy(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    (void)timeout_ms;
    if (fake_chance(fake_host.destroy_faults))
        return error_set(err, ERROR_ENDING, "the fake destroy failed");
    fake_host.destroys += fake_end(guest);
    return 0;
}

int guest_save(const struct guest *guest, const char *path, int64_t timeout_ms, struct error *err)
{
    (void)timeout_ms;
    if (fake_chance(fake_host.save_faults))
        return error_set(err, ERROR_GUEST_FAILED, "the fake save failed");
    if (access(path, F_OK) == 0)
        abort(); /* the one before was not dropped */
    if (!fake_end(guest))
        return error_set(err, ERROR_NOT_FOUND, "there is no such fake domain");
    fake_host.saves++;
    return file_write_atomic(path, 0600, guest->uuid, strlen(guest->uuid), err);
}

int guest_state(const struct guest *guest, int64_t timeout_ms, enum guest_state *state, struct error *err)
{
    (void)timeout_ms, (void)err;
    LOCK_SCOPE(&fake_host.mutex);
    const struct fake_domain *domain = fake_domain_of(guest);
    *state = !domain ? GUEST_GONE : domain->paused ? GUEST_PAUSED : GUEST_RUNNING;
    return 0;
}

static int fake_set_paused(const struct guest *guest, bool paused, struct error *err)
{
    LOCK_SCOPE(&fake_host.mutex);
    struct fake_domain *domain = fake_domain_of(guest);
    if (!domain)
        return error_set(err, ERROR_NOT_FOUND, "there is no such fake domain");
    domain->paused = paused;
    return 0;
}

int guest_pause(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    (void)timeout_ms;
    return fake_set_paused(guest, true, err);
}

int guest_resume(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    (void)timeout_ms;
    return fake_set_paused(guest, false, err);
}

int guest_claim(const struct guest *guest, const char *node_id, const char *lease_id, int64_t timeout_ms,
                struct error *err)
{
    (void)node_id, (void)timeout_ms;
    LOCK_SCOPE(&fake_host.mutex);
    struct fake_domain *domain = fake_domain_of(guest);
    if (!domain)
        return error_set(err, ERROR_NOT_FOUND, "there is no such fake domain");
    if (domain->lease_id[0])
        abort(); /* one guest for two leases */
    snprintf(domain->lease_id, sizeof domain->lease_id, "%s", lease_id);
    domain->paused = false;
    fake_host.claims++;
    return 0;
}

int guest_cpu_time(const struct guest *guest, int64_t timeout_ms, int64_t *cpu_us, struct error *err)
{
    (void)guest, (void)timeout_ms, (void)err;
    *cpu_us = 0;
    return 0;
}

int guest_set_clock(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    return guest_agent_ping(guest, timeout_ms, err);
}

int guest_helper_renew(const struct guest *guest, int64_t deadline_ms, struct error *err)
{
    return guest_agent_ping(guest, clock_left_ms(deadline_ms), err);
}

int guest_reinspect(struct guest *guest, const struct guest_spec *spec, const char *image_dir,
                    const char *golden_dir, int64_t timeout_ms, struct error *err)
{
    (void)image_dir, (void)golden_dir, (void)timeout_ms;
    LOCK_SCOPE(&fake_host.mutex);
    const struct fake_domain *domain = fake_domain_of(guest);
    return domain && strcmp(domain->lease_id, spec->lease_id) == 0
               ? 0
               : error_set(err, ERROR_GUEST_FAILED, "it is another fake domain");
}

int guest_agent_ping(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    (void)timeout_ms;
    LOCK_SCOPE(&fake_host.mutex);
    return fake_domain_of(guest) ? 0 : error_set(err, ERROR_GUEST_FAILED, "the fake agent is gone");
}

int guest_agent_wait(const struct guest *guest, int64_t deadline_ms, struct error *err)
{
    (void)deadline_ms;
    if (fake_chance(fake_host.agent_faults))
        return error_set(err, ERROR_GUEST_FAILED, "the fake agent never spoke");
    return guest_agent_ping(guest, 0, err);
}

int guest_open_display(const struct guest *guest, int64_t timeout_ms, struct error *err)
{
    (void)timeout_ms;
    struct fake *fake = fake_start(FAKE_WIDTH, FAKE_HEIGHT, FAKE_FINE);
    {
        LOCK_SCOPE(&fake_host.mutex);
        struct fake_domain *domain = fake_domain_of(guest);
        if (domain && domain->display_count < FAKE_CLIENTS) {
            domain->displays[domain->display_count++] = fake;
            return fake->client_fd;
        }
    }
    close(fake->client_fd);
    fake_stop(fake);
    return error_set(err, ERROR_GUEST_FAILED, "the fake domain has no display");
}

int guest_list_owned(struct hypervisor *hypervisor, const char *node_id, int64_t timeout_ms,
                     struct guest_owned **list, size_t *count, struct error *err)
{
    (void)hypervisor, (void)timeout_ms, (void)err;
    LOCK_SCOPE(&fake_host.mutex);
    *list = calloc(FAKE_DOMAINS, sizeof **list);
    *count = 0;
    for (size_t i = 0; i < FAKE_DOMAINS; i++) {
        const struct fake_domain *domain = &fake_host.domains[i];
        if (!domain->there || strcmp(domain->node_id, node_id) != 0)
            continue;
        struct guest_owned *entry = &(*list)[(*count)++];
        entry->guest = guest_any_run(hypervisor, domain->uuid);
        entry->guest.run = domain->run;
        entry->name = text_copy(domain->name);
        entry->node_id = text_copy(domain->node_id);
        entry->lease_id = text_copy(domain->lease_id);
    }
    return 0;
}

void guest_list_free(struct guest_owned *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].node_id);
        free(list[i].lease_id);
    }
    free(list);
}

void hypervisor_watch(struct hypervisor *hypervisor, const struct guest_watcher *watcher)
{
    (void)hypervisor;
    LOCK_SCOPE(&fake_host.mutex);
    fake_host.watcher = watcher ? *watcher : (struct guest_watcher){0};
}

int guest_helper_type(const struct guest *guest, const char *text, size_t size, helper_cancelled *cancelled,
                      void *context, int64_t deadline_ms, size_t *typed, struct error *err)
{
    (void)guest, (void)text, (void)cancelled, (void)context, (void)deadline_ms, (void)err;
    *typed = size;
    return 0;
}

int guest_helper_click(const struct guest *guest, uint32_t x, uint32_t y, enum helper_button button,
                       int count, int64_t deadline_ms, struct error *err)
{
    (void)guest, (void)x, (void)y, (void)button, (void)count, (void)deadline_ms, (void)err;
    return 0;
}

int guest_helper_scroll(const struct guest *guest, uint32_t x, uint32_t y, int dx, int64_t deadline_ms,
                        struct error *err)
{
    (void)guest, (void)x, (void)y, (void)dx, (void)deadline_ms, (void)err;
    return 0;
}

struct image *image_open(const struct image_options *options, enum image_fault *fault, struct error *err)
{
    (void)options, (void)fault, (void)err;
    struct image *image = calloc(1, sizeof *image);
    image->display_width = FAKE_WIDTH;
    image->display_height = FAKE_HEIGHT;
    image->input_helper = true;
    return image;
}

int image_recheck(const struct image *image, struct error *err)
{
    (void)image, (void)err;
    return 0;
}

void image_free(struct image *image)
{
    free(image);
}

int overlay_create(const char *path, const struct image *image, const char *golden, int64_t disk_gib,
                   struct overlay_owner owner, struct error *err)
{
    (void)image, (void)golden, (void)disk_gib, (void)owner;
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, ERROR_INTERNAL, "there is an overlay already");
    close(fd);
    return 0;
}

int overlay_remove(const char *path, struct error *err)
{
    return file_remove(path, err);
}

int eligibility_check(struct eligibility *eligibility, struct error *err)
{
    (void)eligibility, (void)err;
    return 0;
}

enum config_warm room_warm(const struct config *config, struct hypervisor *hypervisor,
                           char why[WARM_WHY_SIZE])
{
    (void)hypervisor;
    snprintf(why, WARM_WHY_SIZE, "warm is %s", config_warm_word(config->warm));
    return config->warm;
}

int room_fits(const struct config *config, const char *node_id, const struct guest *apart,
              const struct lease_shape *shape, struct error *err)
{
    (void)config, (void)node_id, (void)apart, (void)shape, (void)err;
    return 0;
}

#endif
