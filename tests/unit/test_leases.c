/*
 * The berths' state machine with a fake hypervisor: from any state, by any events, never two guests for one
 * berth, never a lease without a receipt after its end, occupancy never above wall time; by one thread in a
 * seeded order, and by many at once.
 */
#include "unit.h"

#include "fake_hypervisor.h"
#include "home_fixture.h"
#include "lease/leases.h"

#define BERTHS 2
#define LEASES 512

static const char node_id[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const struct pairing_grant operator_grant = {
    .id = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
    .capabilities = CAPABILITY_OPERATOR | CAPABILITY_LEASE};

/* A node as far as leases go, and what it has promised. */
struct world {
    struct config *config;
    struct pairing *pairing;
    char *assets;
    struct leases *leases;
    pthread_mutex_t mutex; /* guards the list */
    struct promise {
        char id[LEASE_ID_SIZE];
        int64_t made_ms; /* monotonic */
        bool ended;      /* its receipt was seen */
    } promises[LEASES];
    size_t count;
};

static void open_leases(struct world *world)
{
    struct error err = ERROR_INIT;
    struct leases_options options = {
        .config = world->config,
        .node_id = node_id,
        .pairing = world->pairing,
        .view_assets = world->assets,
    };
    world->leases = leases_open(&options, &err);
    assert_string_equal(err.text, "");
    assert_non_null(world->leases);
}

static void close_leases(struct world *world, bool end)
{
    leases_stop(world->leases, end);
    leases_close(world->leases);
    world->leases = NULL;
    assert_int_equal(fake_host.holds, 0);
}

static void free_world(void *argument)
{
    struct world *world = argument;
    fake_host.destroy_faults = 0;
    if (world->leases)
        close_leases(world, true);
    assert_int_equal(fake_domain_count(), 0);
    pairing_close(world->pairing);
    config_free(world->config);
    free(world->assets);
    free(world);
}

/* Until the end of the test, or end_now(). */
static struct world *new_world(const char *warm)
{
    struct error err = ERROR_INIT;
    struct world *world = calloc(1, sizeof *world);
    pthread_mutex_init(&world->mutex, NULL);
    CLEANUP_FREE char *toml = file_join(home, "node.toml");
    CLEANUP_FREE char *text = text_format("berths = %d\naccel = \"tcg\"\nstate_dir = \"%s/state\"\n"
                                          "start_timeout_seconds = 20\nwarm = \"%s\"\n",
                                          BERTHS, home, warm);
    assert_int_equal(file_write_atomic(toml, 0600, text, strlen(text), &err), 0);
    world->config = config_load(home, &err);
    assert_string_equal(err.text, "");
    world->pairing = pairing_open(home, &err);
    world->assets = file_join(home, "assets");
    CLEANUP_FREE char *page = file_join(world->assets, "page.html");
    assert_int_equal(file_make_folder(world->assets, 0700, &err), 0);
    assert_int_equal(file_write_atomic(page, 0600, "<!doctype html>", 15, &err), 0);
    fake_host.start_faults = fake_host.destroy_faults = fake_host.agent_faults = 0;
    fake_host.save_faults = fake_host.restore_faults = 0;
    at_end(free_world, world);
    open_leases(world);
    return world;
}

/* Creates a lease; what was promised is noted. Returns whether it is live. */
static bool create(struct world *world)
{
    struct error err = ERROR_INIT;
    struct lease_request request = {
        .os = "linux", .vcpu = -1, .mem_gib = -1, .disk_gib = -1, .ttl_seconds = -1};
    struct lease_document lease;
    int64_t began_ms = clock_monotonic_ms();
    if (leases_create(world->leases, &request, &operator_grant, &lease, &err) < 0) {
        assert_true(err.code == ERROR_LEASE_LIVE || err.code == ERROR_GUEST_FAILED ||
                    err.code == ERROR_UNPARKED);
        return false;
    }
    LOCK_SCOPE(&world->mutex);
    assert_true(world->count < LEASES);
    struct promise *promise = &world->promises[world->count++];
    *promise = (struct promise){.made_ms = began_ms};
    memcpy(promise->id, lease.id, sizeof promise->id);
    return true;
}

static void check_receipt(const struct promise *promise, const struct lease_receipt *receipt)
{
    assert_string_equal(receipt->lease_id, promise->id);
    assert_true(receipt->occupancy_seconds >= 0);
    assert_true(receipt->occupancy_seconds * 1000 <= clock_monotonic_ms() - promise->made_ms);
}

/* Ends a lease as a market does: again, until there is a receipt. */
static void end(struct world *world, struct promise *promise)
{
    struct error err = ERROR_INIT;
    struct lease_receipt receipt;
    for (int tries = 0; tries < 400; tries++) {
        err = (struct error)ERROR_INIT;
        if (leases_end(world->leases, promise->id, &operator_grant, REASON_GRACEFUL, &receipt, &err) == 0) {
            check_receipt(promise, &receipt);
            promise->ended = true;
            return;
        }
        assert_int_equal(err.code, ERROR_ENDING);
    }
    fail_msg("a lease does not end: %s", err.text);
}

/* How many berths are in this state. */
static size_t count_state(struct world *world, const char *state)
{
    size_t count = 0;
    for (size_t i = 0; i < leases_berths(world->leases); i++) {
        struct berth_status status;
        leases_status(world->leases, i, &status);
        count += strcmp(status.state, state) == 0;
    }
    return count;
}

/* What must hold whenever nothing is under way but what the keeper does by itself. */
static void check_world(struct world *world)
{
    struct lease_document live[BERTHS];
    size_t count = leases_list(world->leases, &operator_grant, live, BERTHS);
    size_t others =
        count_state(world, "ending") + count_state(world, "ready") + count_state(world, "preparing");
    if (world->config->warm == WARM_OFF)
        assert_in_range(fake_domain_count(), count, count + others); /* of an ending one there may be none */
    for (size_t i = 0; i < world->count; i++) {
        struct promise *promise = &world->promises[i];
        struct error err = ERROR_INIT;
        struct lease_receipt receipt;
        bool is_live = false;
        for (size_t k = 0; k < count; k++)
            is_live |= strcmp(live[k].id, promise->id) == 0;
        bool has_receipt = leases_receipt(world->leases, promise->id, &operator_grant, &receipt, &err) == 0;
        if (has_receipt)
            check_receipt(promise, &receipt);
        assert_false(is_live && has_receipt);
        if (promise->ended)
            assert_true(has_receipt); /* for ever */
    }
}

static struct promise *any_promise(struct world *world, unsigned *seed)
{
    return world->count ? &world->promises[(unsigned)rand_r(seed) % world->count] : NULL;
}

/* The UUID of some running domain; false when there is none. */
static bool any_domain(unsigned *seed, char uuid[37])
{
    LOCK_SCOPE(&fake_host.mutex);
    size_t from = (unsigned)rand_r(seed) % FAKE_DOMAINS;
    for (size_t i = 0; i < FAKE_DOMAINS; i++) {
        const struct fake_domain *domain = &fake_host.domains[(from + i) % FAKE_DOMAINS];
        if (!domain->there)
            continue;
        memcpy(uuid, domain->uuid, 37);
        return true;
    }
    return false;
}

static void await_quiet(struct world *world)
{
    for (int turn = 0; turn < 2000; turn++) {
        struct lease_document live[BERTHS];
        size_t count = leases_list(world->leases, &operator_grant, live, BERTHS);
        size_t under_way = count_state(world, "ending") + count_state(world, "preparing");
        /* one that is ready on the disk has no domain */
        size_t waiting = fake_domain_count() - count;
        if (under_way == 0 && waiting <= count_state(world, "ready") &&
            (world->config->warm == WARM_DISK || waiting == count_state(world, "ready")))
            return;
        clock_sleep_ms(10);
    }
    fail_msg("what ends does not come to its end");
}

static void await_ready(struct world *world, size_t count)
{
    for (int turn = 0; turn < 2000 && count_state(world, "ready") != count; turn++)
        clock_sleep_ms(10);
    assert_int_equal(count_state(world, "ready"), count);
}

static void any_order_of_events(const char *warm)
{
    unsigned seed = 20261130;
    char uuid[37];
    struct world *world = new_world(warm);
    fake_host.start_faults = fake_host.agent_faults = 10;
    fake_host.save_faults = fake_host.restore_faults = 10;
    fake_host.destroy_faults = 5;
    for (int step = 0; step < 120; step++) {
        struct promise *promise = any_promise(world, &seed);
        switch (rand_r(&seed) % 6) {
        case 0:
        case 1:
            create(world);
            break;
        case 2:
            if (promise)
                end(world, promise);
            break;
        case 3: /* the guest turns itself off */
            if (any_domain(&seed, uuid))
                fake_power_off(uuid);
            await_quiet(world);
            break;
        case 4: /* the node is stopped and started; a guest may die meanwhile */
            close_leases(world, false);
            if (rand_r(&seed) % 2 && any_domain(&seed, uuid))
                fake_power_off(uuid);
            fake_host.destroy_faults = 0; /* a recovery that cannot clean up refuses to start */
            open_leases(world);
            fake_host.destroy_faults = 5;
            break;
        case 5:
            if (leases_unpark(world->leases, &(struct error)ERROR_INIT) == 0 && rand_r(&seed) % 2)
                clock_sleep_ms(5);
            assert_int_equal(leases_park(world->leases, &(struct error)ERROR_INIT), 0);
            break;
        }
        check_world(world);
    }
    assert_true(world->count > 10);
    assert_true(fake_host.faults > 0);
    for (size_t i = 0; i < world->count; i++)
        end(world, &world->promises[i]);
    check_world(world);
    end_now(world);
}

static void any_order_cold(void **state)
{
    (void)state;
    any_order_of_events("off");
}

static void any_order_with_spares(void **state)
{
    (void)state;
    int before = fake_host.claims;
    any_order_of_events("ram");
    assert_true(fake_host.claims > before);
}

static void any_order_saved(void **state)
{
    (void)state;
    int before = fake_host.restores;
    any_order_of_events("disk");
    assert_true(fake_host.restores > before);
}

/* --- many at once ---------------------------------------------------------------------------------- */

struct worker {
    struct world *world;
    unsigned seed;
    atomic_int *failures;
};

static void look_and_act(struct world *world, const char *id)
{
    struct error err = ERROR_INIT;
    struct picture_request look = {.format = PICTURE_PNG, .quality = 80, .settle_ms = -1, .timeout_ms = 5000};
    struct action move = {.kind = ACTION_MOVE, .op = "move", .has_point = true, .point = {3, 4}};
    struct display_act act = {.request = {.actions = &move, .count = 1}};
    struct display_acted acted;
    CLEANUP_PICTURE struct picture *picture =
        leases_screenshot(world->leases, id, &operator_grant, &look, NULL, &err);
    leases_act(world->leases, id, &operator_grant, &act, NULL, &acted, &err);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct world *world = worker->world;
    char uuid[37];
    for (int turn = 0; turn < 25; turn++) {
        char id[LEASE_ID_SIZE] = "l_00000000000000000000000000000000";
        struct promise *chosen = NULL;
        {
            LOCK_SCOPE(&world->mutex);
            size_t from = world->count > 4 ? world->count - 4 : 0;
            if (world->count)
                chosen = &world->promises[from + (unsigned)rand_r(&worker->seed) % (world->count - from)];
            if (chosen)
                memcpy(id, chosen->id, sizeof id);
        }
        struct error err = ERROR_INIT;
        struct lease_receipt receipt;
        struct lease_document list[BERTHS];
        switch (rand_r(&worker->seed) % 6) {
        case 0:
        case 1:
            create(world);
            break;
        case 2:
            if (chosen &&
                leases_end(world->leases, id, &operator_grant, REASON_GRACEFUL, &receipt, &err) < 0 &&
                err.code != ERROR_ENDING)
                ++*worker->failures;
            break;
        case 3:
            look_and_act(world, id);
            break;
        case 4:
            leases_list(world->leases, &operator_grant, list, BERTHS);
            break;
        case 5:
            if (rand_r(&worker->seed) % 4 == 0 && any_domain(&worker->seed, uuid))
                fake_power_off(uuid);
            break;
        }
    }
    return NULL;
}

static void many_at_once(const char *warm)
{
    enum { WORKERS = 6 };
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    atomic_int failures = 0;
    struct world *world = new_world(warm);
    fake_host.start_faults = fake_host.agent_faults = 5;
    fake_host.destroy_faults = 2;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){world, 4711 + i, &failures};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    fake_host.destroy_faults = 0;
    await_quiet(world);
    check_world(world);
    close_leases(world, false);
    open_leases(world); /* what the journal says is what was */
    check_world(world);
    for (size_t i = 0; i < world->count; i++)
        end(world, &world->promises[i]);
    check_world(world);
    end_now(world);
}

static void many_at_once_cold(void **state)
{
    (void)state;
    many_at_once("off");
}

static void many_at_once_with_spares(void **state)
{
    (void)state;
    many_at_once("ram");
}

static void many_at_once_saved(void **state)
{
    (void)state;
    many_at_once("disk");
}

/* --- single promises ------------------------------------------------------------------------------- */

static void a_guest_that_does_not_go(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct lease_receipt receipt;
    struct world *world = new_world("off");
    assert_true(create(world));
    struct promise *promise = &world->promises[0];
    fake_host.destroy_faults = 100;
    assert_int_equal(leases_end(world->leases, promise->id, &operator_grant, REASON_GRACEFUL, &receipt, &err),
                     -1);
    assert_int_equal(err.code, ERROR_ENDING);
    assert_int_equal(fake_domain_count(), 1);
    assert_int_equal(leases_receipt(world->leases, promise->id, &operator_grant, &receipt, &err), -1);
    fake_host.destroy_faults = 0;
    await_quiet(world); /* the keeper tries again by itself */
    assert_int_equal(leases_receipt(world->leases, promise->id, &operator_grant, &receipt, &err), 0);
    assert_int_equal(receipt.reason, REASON_GRACEFUL);
    end_now(world);
}

static void a_create_that_cannot_be_undone(void **state)
{
    (void)state;
    struct world *world = new_world("off");
    fake_host.agent_faults = fake_host.destroy_faults = 100;
    assert_false(create(world));
    assert_int_equal(fake_domain_count(), 1);
    struct berth_status status;
    leases_status(world->leases, 0, &status);
    assert_string_equal(status.state, "ending"); /* and not free: its guest is there */
    fake_host.agent_faults = fake_host.destroy_faults = 0;
    await_quiet(world);
    leases_status(world->leases, 0, &status);
    assert_string_equal(status.state, "failed");
    assert_string_not_equal(status.reason, "");
    assert_true(create(world));
    end_now(world);
}

static void fewer_berths_than_leases(void **state)
{
    (void)state;
    struct world *world = new_world("off");
    assert_true(create(world));
    assert_true(create(world));
    close_leases(world, false);
    world->config->berths = 1;
    open_leases(world);
    assert_int_equal(leases_berths(world->leases), 2);
    check_world(world);
    end(world, &world->promises[0]);
    end(world, &world->promises[1]);
    assert_true(create(world));
    assert_false(create(world)); /* the second is not offered any more */
    end_now(world);
}

/* --- what an invite lets its token have --------------------------------------------------------------- */

struct tenant {
    struct world *world;
    const struct pairing_grant *grant;
    pthread_t thread;
    struct error err;
    int made;
};

static int rent(struct world *world, const struct pairing_grant *grant, int64_t ttl_seconds,
                struct lease_document *lease, struct error *err)
{
    struct lease_request request = {
        .os = "linux", .vcpu = -1, .mem_gib = -1, .disk_gib = -1, .ttl_seconds = ttl_seconds};
    return leases_create(world->leases, &request, grant, lease, err);
}

static void *rent_once(void *argument)
{
    struct tenant *tenant = argument;
    struct lease_document lease;
    tenant->made = rent(tenant->world, tenant->grant, -1, &lease, &tenant->err);
    return NULL;
}

/* As many creates at once as there are berths: one of them is the one too many, whichever came first. */
static void no_more_leases_than_the_invite_says(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct lease_document lease;
    struct lease_receipt receipt;
    struct pairing_grant other = {.capabilities = CAPABILITY_LEASE}, *grant = unit_room(sizeof *grant);
    struct tenant *tenants = unit_room(BERTHS * sizeof *tenants);
    struct world *world = new_world("ram");
    *grant = (struct pairing_grant){.capabilities = CAPABILITY_LEASE, .leases_max = BERTHS - 1};
    memset(grant->id, 'a', sizeof grant->id - 1);
    memset(other.id, 'b', sizeof other.id - 1);
    for (size_t i = 0; i < BERTHS; i++) {
        tenants[i] = (struct tenant){.world = world, .grant = grant, .err = ERROR_INIT};
        assert_int_equal(pthread_create(&tenants[i].thread, NULL, rent_once, &tenants[i]), 0);
    }
    size_t made = 0;
    for (size_t i = 0; i < BERTHS; i++) {
        pthread_join(tenants[i].thread, NULL);
        made += tenants[i].made == 0;
        if (tenants[i].made < 0)
            assert_int_equal(tenants[i].err.code, ERROR_LEASE_LIVE);
    }
    assert_int_equal(made, BERTHS - 1);
    assert_int_equal(leases_list(world->leases, grant, &lease, 1), 1);
    assert_int_equal(leases_end(world->leases, lease.id, grant, REASON_GRACEFUL, &receipt, &err), 0);
    assert_int_equal(rent(world, grant, -1, &lease, &err), 0);  /* what has ended does not count, */
    assert_int_equal(rent(world, &other, -1, &lease, &err), 0); /* nor what others have */
    end_now(world);
}

static void no_longer_than_the_invite_says(void **state)
{
    (void)state;
    static const struct {
        int64_t node_max, invite_max, asked, lasts; /* seconds; lasts: 0 for never, -1 for a refusal */
    } cases[] = {
        {0, 0, -1, 0},       {0, 600, -1, 600},  {3600, 600, -1, 600}, {300, 600, -1, 300},
        {3600, 600, 60, 60}, {0, 600, 600, 600}, {0, 600, 601, -1},    {3600, 600, 601, -1},
    };
    struct world *world = new_world("off");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err = ERROR_INIT;
        struct lease_document lease;
        struct lease_receipt receipt;
        struct pairing_grant grant = {.capabilities = CAPABILITY_LEASE, .max_seconds = cases[i].invite_max};
        memset(grant.id, 'a', sizeof grant.id - 1);
        world->config->max_lease_seconds = cases[i].node_max;
        int made = rent(world, &grant, cases[i].asked, &lease, &err);
        assert_int_equal(made, cases[i].lasts < 0 ? -1 : 0);
        if (made < 0) {
            assert_int_equal(err.code, ERROR_BAD_SHAPE);
            continue;
        }
        assert_int_equal(lease.expires_ms, cases[i].lasts ? lease.started_ms + cases[i].lasts * 1000 : 0);
        assert_int_equal(leases_end(world->leases, lease.id, &grant, REASON_GRACEFUL, &receipt, &err), 0);
    }
    end_now(world);
}

/* --- spares ---------------------------------------------------------------------------------------- */

/* A request for one lease of this many vCPUs; -1 for the default. */
static int request(struct world *world, const char *os, int64_t vcpu, struct lease_document *lease,
                   struct error *err)
{
    struct lease_request request = {.os = os, .vcpu = vcpu, .mem_gib = -1, .disk_gib = -1, .ttl_seconds = -1};
    return leases_create(world->leases, &request, &operator_grant, lease, err);
}

static void a_spare_is_taken(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct lease_document lease;
    struct world *world = new_world("ram");
    await_ready(world, BERTHS);
    int starts = fake_host.starts, destroys = fake_host.destroys, claims = fake_host.claims;
    /* what is refused costs no spare */
    assert_int_equal(request(world, "windows", -1, &lease, &err), -1);
    assert_int_equal(err.code, ERROR_OS_REFUSED);
    assert_int_equal(request(world, "linux", 0, &lease, &err), -1);
    assert_int_equal(err.code, ERROR_BAD_SHAPE);
    assert_int_equal(count_state(world, "ready"), BERTHS);
    assert_int_equal(request(world, "linux", -1, &lease, &err), 0);
    assert_int_equal(fake_host.claims, claims + 1);
    assert_int_equal(fake_host.starts, starts);
    assert_int_equal(fake_host.destroys, destroys);
    assert_int_equal(count_state(world, "ready"), BERTHS - 1);
    end_now(world);
}

static void another_shape_is_started_cold(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct lease_document lease;
    struct world *world = new_world("ram");
    await_ready(world, BERTHS);
    int starts = fake_host.starts, claims = fake_host.claims;
    assert_int_equal(request(world, "linux", 1, &lease, &err), 0);
    assert_int_equal(lease.shape.vcpu, 1);
    assert_int_equal(fake_host.claims, claims);
    assert_int_equal(fake_host.starts, starts + 1);
    end_now(world);
}

/* One that has to give way and does not go keeps its berth from everybody until it has gone. */
static void a_spare_that_does_not_go(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct lease_document lease;
    struct world *world = new_world("ram");
    await_ready(world, BERTHS);
    fake_host.destroy_faults = 100;
    assert_int_equal(request(world, "linux", 1, &lease, &err), -1);
    assert_int_equal(err.code, ERROR_ENDING);
    assert_int_equal(count_state(world, "ending"), 1);
    assert_int_equal(fake_domain_count(), BERTHS);
    fake_host.destroy_faults = 0;
    await_ready(world, BERTHS);
    end_now(world);
}

static void a_spare_that_dies_is_replaced(void **state)
{
    (void)state;
    unsigned seed = 1;
    char uuid[37];
    struct world *world = new_world("ram");
    await_ready(world, BERTHS);
    int starts = fake_host.starts;
    assert_true(any_domain(&seed, uuid));
    fake_power_off(uuid);
    for (int turn = 0; turn < 2000 && fake_host.starts == starts; turn++)
        clock_sleep_ms(10);
    await_ready(world, BERTHS);
    assert_int_equal(fake_host.starts, starts + 1);
    end_now(world);
}

static void a_node_that_takes_no_leases_prepares_none(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct world *world = new_world("ram");
    await_ready(world, BERTHS);
    assert_int_equal(leases_unpark(world->leases, &err), 0);
    await_ready(world, 0);
    await_quiet(world);
    assert_int_equal(fake_domain_count(), 0);
    assert_int_equal(leases_park(world->leases, &err), 0);
    await_ready(world, BERTHS);
    end_now(world);
}

/* A guest that was claimed and not yet live when the node died belongs to nobody. */
static void no_spare_outlives_the_node(void **state)
{
    (void)state;
    struct world *world = new_world("ram");
    await_ready(world, BERTHS);
    assert_true(create(world));
    close_leases(world, false);
    assert_int_equal(fake_domain_count(), 1); /* the lease's, and no other */
    open_leases(world);
    check_world(world);
    await_ready(world, BERTHS - 1);
    end(world, &world->promises[0]);
    end_now(world);
}

static void a_saved_guest_is_restored(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct lease_document lease;
    struct world *world = new_world("disk");
    await_ready(world, BERTHS);
    assert_int_equal(fake_domain_count(), 0); /* nothing runs meanwhile */
    int starts = fake_host.starts, restores = fake_host.restores, saves = fake_host.saves;
    for (int turn = 0; turn < 3; turn++) {
        assert_true(create(world));
        end(world, &world->promises[turn]);
        await_ready(world, BERTHS);
    }
    assert_int_equal(fake_host.restores, restores + 3);
    assert_int_equal(fake_host.starts, starts + 3);
    assert_int_equal(fake_host.saves, saves); /* one state serves for all */
    close_leases(world, false);
    open_leases(world);
    await_ready(world, BERTHS);
    assert_int_equal(fake_host.saves, saves);                      /* and for the node's next run */
    assert_int_equal(request(world, "linux", 1, &lease, &err), 0); /* another shape */
    assert_int_equal(fake_host.restores, restores + 3);
    end_now(world);
}

static void a_restore_that_fails_is_a_boot(void **state)
{
    (void)state;
    struct world *world = new_world("disk");
    await_ready(world, BERTHS);
    int restores = fake_host.restores, starts = fake_host.starts, saves = fake_host.saves;
    fake_host.restore_faults = 100;
    assert_true(create(world));
    fake_host.restore_faults = 0;
    assert_int_equal(fake_host.restores, restores);
    assert_int_equal(fake_host.starts, starts + 1);
    end(world, &world->promises[0]);
    await_ready(world, BERTHS);
    assert_int_equal(fake_host.saves, saves + 1); /* what failed was dropped */
    end_now(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_order_cold, make_home, remove_home),
        cmocka_unit_test_setup_teardown(any_order_with_spares, make_home, remove_home),
        cmocka_unit_test_setup_teardown(any_order_saved, make_home, remove_home),
        cmocka_unit_test_setup_teardown(many_at_once_cold, make_home, remove_home),
        cmocka_unit_test_setup_teardown(many_at_once_with_spares, make_home, remove_home),
        cmocka_unit_test_setup_teardown(many_at_once_saved, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_guest_that_does_not_go, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_create_that_cannot_be_undone, make_home, remove_home),
        cmocka_unit_test_setup_teardown(fewer_berths_than_leases, make_home, remove_home),
        cmocka_unit_test_setup_teardown(no_more_leases_than_the_invite_says, make_home, remove_home),
        cmocka_unit_test_setup_teardown(no_longer_than_the_invite_says, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_spare_is_taken, make_home, remove_home),
        cmocka_unit_test_setup_teardown(another_shape_is_started_cold, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_spare_that_does_not_go, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_spare_that_dies_is_replaced, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_node_that_takes_no_leases_prepares_none, make_home, remove_home),
        cmocka_unit_test_setup_teardown(no_spare_outlives_the_node, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_saved_guest_is_restored, make_home, remove_home),
        cmocka_unit_test_setup_teardown(a_restore_that_fails_is_a_boot, make_home, remove_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
