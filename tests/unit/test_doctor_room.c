/* What berths need of a host: how guests are prepared where node.toml leaves that open, the saved states'
 * room, and whether one more lease fits beside what was promised. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "doctor/capacity.h"
#include "doctor/own_guests.h"
#include "doctor/room.h"
#include "doctor_fixture.h"

enum { GIB = 1024 };

static struct config config_of(int64_t berths, int64_t mem_gib, enum config_warm warm)
{
    struct config config = green_config();
    config.berths = berths;
    config.mem_gib = mem_gib;
    config.warm = warm;
    return config;
}

static void test_the_host_decides(void **state)
{
    (void)state;
    static const struct {
        int64_t berths, mem_gib, free_mib, own_mib, disk_mib, saved;
        enum config_warm warm;
    } cases[] = {
        /* a ready guest and one lease, to the MiB */
        {1, 4, 8 * GIB, 0, 100 * GIB, 0, WARM_RAM},
        {1, 4, 8 * GIB - 1, 0, 100 * GIB, 0, WARM_DISK},
        {1, 8, 16 * GIB, 0, 100 * GIB, 0, WARM_RAM},
        {1, 8, 16 * GIB - 1, 0, 100 * GIB, 0, WARM_DISK},
        /* a small guest, and the floor of a lease */
        {1, 1, 5 * GIB, 0, 100 * GIB, 0, WARM_RAM},
        {1, 1, 5 * GIB - 1, 0, 100 * GIB, 0, WARM_DISK},
        /* every berth's */
        {3, 4, 16 * GIB, 0, 100 * GIB, 0, WARM_RAM},
        {3, 4, 16 * GIB - 1, 0, 100 * GIB, 0, WARM_DISK},
        /* what an earlier run has left counts as free */
        {1, 4, 5 * GIB, 3 * GIB, 100 * GIB, 0, WARM_RAM},
        {1, 4, 5 * GIB, 3 * GIB - 1, 100 * GIB, 0, WARM_DISK},
        /* the overlay's room and the state's: 4 GiB, and 4 GiB and one more */
        {1, 4, 6 * GIB, 0, 9 * GIB, 0, WARM_DISK},
        {1, 4, 6 * GIB, 0, 9 * GIB - 1, 0, WARM_OFF},
        {2, 4, 6 * GIB, 0, 18 * GIB, 0, WARM_DISK},
        {2, 4, 6 * GIB, 0, 18 * GIB - 1, 0, WARM_OFF},
        {2, 4, 6 * GIB, 0, 13 * GIB, 1, WARM_DISK},
        {2, 4, 6 * GIB, 0, 8 * GIB, 2, WARM_DISK},
        {2, 4, 6 * GIB, 0, 8 * GIB - 1, 2, WARM_OFF},
        /* what is not known is nothing */
        {1, 4, 0, 100 * GIB, 100 * GIB, 0, WARM_DISK},
        {1, 4, 0, 0, 0, 0, WARM_OFF},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = config_of(cases[i].berths, cases[i].mem_gib, WARM_DEFAULT);
        struct capacity_facts facts = {.mem_free_mib = cases[i].free_mib,
                                       .own_mem_mib = cases[i].own_mib,
                                       .disk_free_mib = cases[i].disk_mib,
                                       .saved_states = cases[i].saved};
        char why[WARM_WHY_SIZE], start[32];
        enum config_warm warm = capacity_warm(&config, &facts, why);
        if (warm != cases[i].warm)
            fail_msg("case %zu: %s", i, why);
        snprintf(start, sizeof start, "warm is %s: ", config_warm_word(warm));
        if (strncmp(why, start, strlen(start)) != 0 || strlen(why) + 1 == sizeof why)
            fail_msg("case %zu says \"%s\"", i, why);
    }
}

static void test_the_operator_decides(void **state)
{
    (void)state;
    static const struct capacity_facts nothing;
    for (int warm = WARM_RAM; warm <= WARM_OFF; warm++) {
        struct config config = config_of(1, 4, (enum config_warm)warm);
        char why[WARM_WHY_SIZE];
        assert_int_equal(capacity_warm(&config, &nothing, why), warm);
        assert_non_null(strstr(why, "node.toml says so"));
        assert_int_equal(room_warm(&config, NULL, why), warm); /* and nothing is looked at */
    }
}

/* A sentence of the largest figures that node.toml takes is whole. */
static void test_the_longest_sentence(void **state)
{
    (void)state;
    struct config config = config_of(64, 512, WARM_DEFAULT);
    struct capacity_facts facts = {.mem_free_mib = 1 << 24, .disk_free_mib = 1};
    char why[WARM_WHY_SIZE];
    assert_int_equal(capacity_warm(&config, &facts, why), WARM_OFF);
    assert_non_null(strstr(why, "no room for saved ones"));
}

static void test_need(void **state)
{
    (void)state;
    struct capacity_facts facts = {.saved_states = 0};
    struct config config = config_of(1, 1, WARM_OFF);
    config.vcpu = 1;
    config.disk_gib = 2;
    struct capacity_need need = capacity_need(&config, &facts, WARM_OFF);
    assert_int_equal(need.vcpu, 2); /* the floors */
    assert_int_equal(need.mem_mib, 4 * GIB);
    assert_int_equal(need.disk_mib, 2 * GIB);
    assert_int_equal(need.states_mib, 0);
    config.berths = 6;
    need = capacity_need(&config, &facts, WARM_RAM);
    assert_int_equal(need.vcpu, 6);
    assert_int_equal(need.mem_mib, 6 * GIB);
    assert_int_equal(need.disk_mib, 12 * GIB);
    assert_int_equal(need.states, 0);
    facts.own_leases = 4; /* which have their disks */
    facts.saved_states = 1;
    need = capacity_need(&config, &facts, WARM_DISK);
    assert_int_equal(need.mem_mib, 6 * GIB);
    assert_int_equal(need.disk_mib, 4 * GIB);
    assert_int_equal(need.states, 5);
    assert_int_equal(need.states_mib, 5 * 2 * GIB);
    facts.own_leases = facts.saved_states = 6;
    need = capacity_need(&config, &facts, WARM_DISK);
    assert_int_equal(need.disk_mib, 2 * GIB); /* for the next one */
    assert_int_equal(need.states_mib, 0);
    facts.own_leases = facts.saved_states = -3; /* no such number */
    need = capacity_need(&config, &facts, WARM_DISK);
    assert_int_equal(need.disk_mib, 12 * GIB);
    assert_int_equal(need.states, 6);
}

static enum error_code fits(const struct capacity_facts *facts, const struct own_guests *own,
                            const struct lease_shape *shape, const char *word)
{
    struct config config = config_of(2, 4, WARM_RAM);
    struct error err = ERROR_INIT;
    int result = capacity_fits(&config, facts, own, shape, &err);
    assert_int_equal(result, err.code == ERROR_NONE ? 0 : -1);
    if (word && !strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
    return err.code;
}

static void test_fits_beside_what_was_promised(void **state)
{
    (void)state;
    const struct lease_shape shape = {.vcpu = 2, .mem_gib = 4, .disk_gib = 40};
    struct capacity_facts facts = {.cpus = 4,
                                   .given_known = FACT_YES,
                                   .vcpu_given = 2,
                                   .mem_free_mib = 7 * GIB,
                                   .disk_free_mib = 4 * GIB};
    struct own_guests own = {.spares = 1, .mem_mib = 1 * GIB, .spare_mem_mib = 1 * GIB, .owed_mib = 3 * GIB};
    assert_int_equal(fits(&facts, &own, &shape, NULL), ERROR_NONE);
    facts.mem_free_mib--;
    assert_int_equal(fits(&facts, &own, &shape, "beside the 3072 MiB"), ERROR_NO_CAPACITY);
    own.apart_mem_mib = 1; /* its own ready guest goes for it */
    assert_int_equal(fits(&facts, &own, &shape, NULL), ERROR_NONE);
    own = (struct own_guests){0};
    assert_int_equal(fits(&facts, &own, &shape, NULL), ERROR_NONE);
    facts.mem_free_mib = 4 * GIB - 1;
    assert_int_equal(fits(&facts, &own, &shape, "4095 MiB of memory free now and 4096"), ERROR_NO_CAPACITY);
    facts.mem_free_mib = 100;
    own.owed_mib = 4 * GIB; /* more than there is: nothing, not less than nothing */
    assert_int_equal(fits(&facts, &own, &shape, "has 0 MiB of memory"), ERROR_NO_CAPACITY);
    own.owed_mib = 0;
    facts.mem_free_mib = 7 * GIB;
    facts.vcpu_given = 3;
    assert_int_equal(fits(&facts, &own, &shape, "1 vCPU free"), ERROR_NO_CAPACITY);
    facts.vcpu_given = 2;
    facts.disk_free_mib--;
    assert_int_equal(fits(&facts, &own, &shape, "of disk"), ERROR_NO_CAPACITY);
}

static void count_one(struct own_guests *own, const char *name, const char *uuid, const char *lease,
                      int64_t holds_mib, const char *apart)
{
    CLEANUP_FREE char *owned_name = text_copy(name);
    CLEANUP_FREE char *owned_lease = text_copy(lease);
    struct guest_owned guest = {.name = owned_name, .lease_id = owned_lease, .vcpu = 2, .mem_mib = 4 * GIB};
    memcpy(guest.guest.uuid, uuid, strlen(uuid) + 1);
    own_count(own, &guest, holds_mib, apart);
}

static void test_own_guests(void **state)
{
    (void)state;
    struct own_guests own = {0};
    count_one(&own, "berth-01234567-0", "u-0", "l_0", 1000, "u-3");
    count_one(&own, "berth-01234567-1", "u-1", "", 900, "u-3");
    count_one(&own, "berth-01234567-2", "u-2", "l_2", 4200,
              "u-3"); /* with QEMU's own more than its guest's */
    assert_int_equal(own.leases, 2);
    assert_int_equal(own.spares, 1);
    assert_int_equal(own.mem_mib, 6100);
    assert_int_equal(own.spare_mem_mib, 900);
    assert_int_equal(own.owed_mib, 4 * GIB - 1000 + 4 * GIB - 900);
    assert_int_equal(own.apart_mem_mib, 0);
    struct own_guests before = own;
    count_one(&own, "berth-01234567-3", "u-3", "", 800, "u-3");
    count_one(&own, "berth-01234567-canary-a1b2c3", "u-4", "", 50, "u-3"); /* nobody will ever have it */
    assert_int_equal(own.apart_mem_mib, 850);
    assert_int_equal(own.apart_vcpu, 4);
    own.apart_mem_mib = own.apart_vcpu = 0;
    assert_memory_equal(&own, &before, sizeof own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_host_decides),
        cmocka_unit_test(test_the_operator_decides),
        cmocka_unit_test(test_the_longest_sentence),
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_fits_beside_what_was_promised),
        cmocka_unit_test(test_own_guests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
