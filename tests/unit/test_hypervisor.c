/* Calls with a deadline, over libvirt's own test driver: no daemon, no QEMU. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libvirt/libvirt.h>

#include "base/clock.h"
#include "guest/call.h"
#include "guest/guest.h"
#include "guest/hypervisor.h"
#include "guest/owned.h"

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
    assert_int_equal(call_hypervisor(hypervisor, "nap", sleep_then_write, nap, 5000, &err), 0);
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
    assert_int_equal(call_hypervisor(hypervisor, "nap", sleep_then_write, nap, 50, &err), -1);
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
    assert_int_equal(call_hypervisor(hypervisor, "fail", fail_with_words, nap, 5000, &err), -1);
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
    struct error err = ERROR_INIT;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor = open_test();
    struct guest unknown = guest_any_run(hypervisor, "11111111-2222-5333-8444-555555555555");
    struct guest_owned *list;
    size_t count;
    enum guest_state found = GUEST_RUNNING;
    /* the test driver runs one domain, named test, without our metadata */
    assert_int_equal(guest_list_owned(hypervisor, "abc", 5000, &list, &count, &err), 0);
    assert_int_equal(count, 0);
    guest_list_free(list, count);
    assert_int_equal(guest_state(&unknown, 5000, &found, &err), 0);
    assert_int_equal(found, GUEST_GONE);
    assert_int_equal(guest_destroy(&unknown, 5000, &err), 0);
    assert_int_equal(guest_open_display(&unknown, 5000, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

/* The domain that the test driver runs. */
static void another_run_of_a_domain_is_left_alone(void **state)
{
    (void)state;
    CLEANUP_HYPERVISOR struct hypervisor *hypervisor = open_test();
    struct guest present = guest_any_run(hypervisor, "6695eb01-f6a4-8304-79aa-97f2502e193f"), earlier;
    struct error err = ERROR_INIT;
    enum guest_state found;
    int64_t cpu_us;
    HYPERVISOR_HOLD_SCOPE(hypervisor);
    present.run = 1;
    earlier = present;
    earlier.run = 7;
    assert_int_equal(guest_state(&earlier, 5000, &found, &err), 0);
    assert_int_equal(found, GUEST_GONE);
    assert_int_equal(guest_pause(&earlier, 5000, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(guest_cpu_time(&earlier, 5000, &cpu_us, &err), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(guest_claim(&earlier, "abc", "l_1", 5000, &err), -1);
    assert_int_equal(guest_destroy(&earlier, 5000, &err), 0);
    assert_int_equal(guest_state(&present, 5000, &found, &err), 0);
    assert_int_equal(found, GUEST_RUNNING);
    assert_int_equal(guest_pause(&present, 5000, &err), 0);
    assert_int_equal(guest_state(&present, 5000, &found, &err), 0);
    assert_int_equal(found, GUEST_PAUSED);
    assert_int_equal(guest_resume(&present, 5000, &err), 0);
}

/* --- a guest's process ----------------------------------------------------------------------------- */

#define UUID "7c1f0d3e-0000-5000-8000-0123456789ab"

static int held; /* the other end of the shell's stdin */

/* A shell under a name, and as a user, that has the UUID in its arguments; there when this returns. */
static pid_t start_process(const char *program, uid_t uid)
{
    int ready[2], hold[2]; /* nothing comes through the second: the shell waits for a line */
    char byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ready[1], STDOUT_FILENO);
        dup2(hold[0], STDIN_FILENO);
        if (setresuid(uid, uid, uid) == 0)
            execl(program, program, "-c", "echo; read line; :", "sh", "-uuid", UUID, (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1); /* it runs */
    close(ready[0]);
    close(hold[0]);
    held = hold[1];
    return child;
}

static void end_process(pid_t child)
{
    close(held);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* Anybody can write a guest's UUID into his own arguments. */
static void a_process_is_no_guest_by_its_arguments(void **state)
{
    (void)state;
    pid_t shell = start_process("/bin/sh", geteuid());
    assert_int_equal(guest_process(UUID), 0);
    end_process(shell);
    char folder[] = "/tmp/berth-process-XXXXXX", program[64], command[160];
    assert_non_null(mkdtemp(folder));
    chmod(folder, 0755);
    snprintf(program, sizeof program, "%s/qemu-system-test", folder);
    snprintf(command, sizeof command, "cp /bin/sh %s", program);
    assert_int_equal(system(command), 0);
    if (geteuid() == 0) {
        pid_t stranger = start_process(program, 65534);
        assert_int_equal(guest_process(UUID), 0);
        end_process(stranger);
    }
    pid_t qemu = start_process(program, geteuid());
    assert_int_equal(guest_process(UUID), qemu);
    end_process(qemu);
    unlink(program);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_in_time),
        cmocka_unit_test(a_late_call_is_left_behind),
        cmocka_unit_test(an_error_keeps_its_code),
        cmocka_unit_test(no_daemon),
        cmocka_unit_test(domains_that_are_not_there_and_not_ours),
        cmocka_unit_test(another_run_of_a_domain_is_left_alone),
        cmocka_unit_test(a_process_is_no_guest_by_its_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
