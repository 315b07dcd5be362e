/* Calls with a deadline, over libvirt's own test driver: no daemon, no QEMU. */
#include "unit.h"

#include <stdatomic.h>
#include <string.h>

#include <libvirt/libvirt.h>

#include "base/clock.h"
#include "guest/call.h"
#include "guest/guest.h"

static atomic_int cleared;

struct nap {
    int64_t ms;
    char *memory; /* touched by the worker after its caller gave up */
    bool saw_abandoned;
};

static void clear_nap(void *state)
{
    struct nap *nap = state;
    free(nap->memory);
    atomic_fetch_add(&cleared, 1);
}

static int sleep_then_write(virConnectPtr connection, void *state, struct error *err)
{
    (void)connection;
    (void)err;
    struct nap *nap = state;
    clock_sleep_ms(nap->ms);
    nap->saw_abandoned = call_abandoned(state);
    memset(nap->memory, 1, 64);
    return 0;
}

static int fail_with_words(virConnectPtr connection, void *state, struct error *err)
{
    (void)connection;
    (void)state;
    return error_set(err, ERROR_NO_CAPACITY, "the words of the work");
}

static struct nap *new_nap(int64_t ms)
{
    struct nap *nap = call_new(sizeof *nap, clear_nap);
    nap->ms = ms;
    nap->memory = calloc(1, 64);
    return nap;
}

static struct hypervisor *open_test(void)
{
    struct error err = ERROR_INIT;
    struct hypervisor *hypervisor = hypervisor_new("test:///default", &err);
    assert_non_null(hypervisor);
    return hypervisor;
}

static void a_call_in_time(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor = open_test();
    struct nap *nap = new_nap(0);
    assert_int_equal(hypervisor_call(hypervisor, "nap", sleep_then_write, nap, 5000, &err), 0);
    assert_int_equal(nap->memory[0], 1);
    assert_false(nap->saw_abandoned);
    call_release(nap);
    assert_int_equal(err.code, ERROR_NONE);
    assert_int_equal(hypervisor_ping(hypervisor, 5000, &err), 0);
}

static void a_late_call_is_left_behind(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct hypervisor *hypervisor = open_test();
    int before = atomic_load(&cleared);
    struct nap *nap = new_nap(400);
    int64_t begun = clock_monotonic_ms();
    assert_int_equal(hypervisor_call(hypervisor, "nap", sleep_then_write, nap, 50, &err), -1);
    assert_in_range(clock_monotonic_ms() - begun, 50, 350);
    assert_int_equal(err.code, ERROR_HYPERVISOR);
    assert_non_null(strstr(err.text, "cannot nap"));
    call_release(nap);
    assert_int_equal(atomic_load(&cleared), before); /* the worker still has it */
    /* another call works meanwhile, on a new connection */
    assert_int_equal(hypervisor_ping(hypervisor, 5000, &err), 0);
    hypervisor_close(hypervisor); /* waits for the worker */
    clock_sleep_ms(50);
    assert_int_equal(atomic_load(&cleared), before + 1);
}

static void an_error_keeps_its_code(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor = open_test();
    struct nap *nap = new_nap(0);
    assert_int_equal(hypervisor_call(hypervisor, "fail", fail_with_words, nap, 5000, &err), -1);
    assert_int_equal(err.code, ERROR_NO_CAPACITY);
    assert_string_equal(err.text, "the words of the work");
    call_release(nap);
}

static void no_daemon(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor =
        hypervisor_new("qemu:///system?socket=/nonexistent/berthos-test-sock", &err);
    assert_int_equal(hypervisor_ping(hypervisor, 5000, &err), -1);
    assert_int_equal(err.code, ERROR_HYPERVISOR);
    assert_non_null(strstr(err.text, "libvirtd"));
}

static void domains_that_are_not_there_and_not_ours(void **state)
{
    (void)state;
    static const char unknown[] = "11111111-2222-5333-8444-555555555555";
    struct error err = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor = open_test();
    struct guest_owned *list;
    size_t count;
    enum guest_state found = GUEST_RUNNING;
    /* the test driver runs one domain, named test, without our metadata */
    assert_int_equal(guest_list_owned(hypervisor, "abc", 5000, &list, &count, &err), 0);
    assert_int_equal(count, 0);
    guest_list_free(list, count);
    assert_int_equal(guest_state(hypervisor, unknown, 5000, &found, &err), 0);
    assert_int_equal(found, GUEST_GONE);
    assert_int_equal(guest_destroy(hypervisor, unknown, 5000, &err), 0);
    assert_int_equal(guest_open_display(hypervisor, unknown, 5000, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_in_time),
        cmocka_unit_test(a_late_call_is_left_behind),
        cmocka_unit_test(an_error_keeps_its_code),
        cmocka_unit_test(no_daemon),
        cmocka_unit_test(domains_that_are_not_there_and_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
