/* The probes on folders that stand for /sys, /proc, /dev and /etc of hosts that are not this one. */
#include "unit.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "doctor/own_guests.h"
#include "doctor/probe_canary.h"
#include "doctor/probe_capacity.h"
#include "doctor/probe_chassis.h"
#include "doctor/probe_kvm.h"
#include "doctor/probe_network.h"

struct host {
    char root[64], sys[80], proc[80], dev[80], etc[80];
    struct probe_roots roots;
};

static void put(const struct host *host, const char *path, const char *text)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *whole = file_join(host->root, path);
    char *slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(file_make_folder(whole, 0755, &err), 0);
    *slash = '/';
    assert_int_equal(file_write_atomic(whole, 0644, text, strlen(text), &err), 0);
}

static void put_link(const struct host *host, const char *path, const char *target)
{
    struct error err = ERROR_INIT;
    CLEANUP_FREE char *whole = file_join(host->root, path);
    char *slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(file_make_folder(whole, 0755, &err), 0);
    *slash = '/';
    assert_int_equal(symlink(target, whole), 0);
}

static int setup(void **state)
{
    struct host *host = calloc(1, sizeof *host);
    snprintf(host->root, sizeof host->root, "/tmp/berthos-unit-XXXXXX");
    assert_non_null(mkdtemp(host->root));
    snprintf(host->sys, sizeof host->sys, "%s/sys", host->root);
    snprintf(host->proc, sizeof host->proc, "%s/proc", host->root);
    snprintf(host->dev, sizeof host->dev, "%s/dev", host->root);
    snprintf(host->etc, sizeof host->etc, "%s/etc", host->root);
    host->roots = (struct probe_roots){host->sys, host->proc, host->dev, host->etc};
    *state = host;
    return 0;
}

static int teardown(void **state)
{
    struct host *host = *state;
    struct error err = ERROR_INIT;
    const char *const argv[] = {"rm", "-rf", host->root, NULL};
    process_run(argv, 10000, NULL, &err);
    free(host);
    return 0;
}

static void put_cpus(const struct host *host, const char *flags)
{
    CLEANUP_FREE char *text =
        text_format("processor\t: 0\nflags\t\t: fpu %s sse2\n\nprocessor\t: 1\n", flags);
    put(host, "proc/cpuinfo", text);
}

static void test_empty_host_is_unknown(void **state)
{
    struct host *host = *state;
    struct chassis_facts chassis = {0};
    struct network_facts network = {0};
    struct capacity_facts capacity = {0};
    struct kvm_facts kvm = {0};
    struct probe_user user = {0};
    probe_chassis(&host->roots, &chassis);
    assert_int_equal(chassis.dmi_type, 0);
    assert_int_equal(chassis.hypervisor, FACT_UNKNOWN);
    assert_int_equal(chassis.battery, FACT_UNKNOWN);
    assert_int_equal(chassis.lid, FACT_UNKNOWN);
    probe_network(&host->roots, &network);
    assert_int_equal(network.wireless, FACT_UNKNOWN);
    assert_int_equal(network.sleeps, FACT_UNKNOWN);
    probe_capacity(&host->roots, "/nonexistent/overlays", &capacity);
    assert_int_equal(capacity.cpus, 0);
    assert_int_equal(capacity.mem_free_mib, 0);
    assert_true(capacity.disk_free_mib > 0); /* of /, where the folder would be made */
    assert_string_equal(capacity.disk_path, "/");
    probe_kvm(&host->roots, &user, &kvm);
    assert_int_equal(kvm.device, FACT_NO);
    assert_int_equal(kvm.cpu_flag, FACT_UNKNOWN);
    assert_int_equal(kvm.loop_ran, FACT_UNKNOWN);
    assert_false(probe_cpu_sample(&host->roots).known);
}

static void test_laptop(void **state)
{
    struct host *host = *state;
    struct chassis_facts facts = {0};
    put(host, "sys/class/dmi/id/chassis_type", "10\n");
    put(host, "sys/class/dmi/id/sys_vendor", "Maker\n");
    put(host, "sys/class/dmi/id/product_name", "Book 3\n");
    put(host, "sys/class/power_supply/AC/type", "Mains\n");
    put(host, "sys/class/power_supply/BAT0/type", "Battery\n");
    put(host, "proc/acpi/button/lid/LID0/state", "state: open\n");
    put_cpus(host, "vmx");
    probe_chassis(&host->roots, &facts);
    assert_int_equal(facts.dmi_type, 10);
    assert_string_equal(facts.product, "Maker Book 3");
    assert_int_equal(facts.battery, FACT_YES);
    assert_string_equal(facts.battery_name, "BAT0");
    assert_int_equal(facts.lid, FACT_YES);
    assert_int_equal(facts.hypervisor, FACT_NO);
}

static void test_server(void **state)
{
    struct host *host = *state;
    struct chassis_facts facts = {0};
    put(host, "sys/class/dmi/id/chassis_type", "23\n");
    put(host, "sys/class/power_supply/hid-mouse/type", "Battery\n"); /* a mouse's battery is no battery */
    put(host, "sys/class/power_supply/hid-mouse/scope", "Device\n");
    put(host, "proc/bus/input/devices", "N: Name=\"Power Button\"\n");
    put_cpus(host, "vmx");
    probe_chassis(&host->roots, &facts);
    assert_int_equal(facts.dmi_type, 23);
    assert_int_equal(facts.battery, FACT_NO);
    assert_int_equal(facts.lid, FACT_NO);

    put(host, "proc/bus/input/devices", "N: Name=\"Power Button\"\n\nN: Name=\"Lid Switch\"\n");
    put(host, "sys/class/dmi/id/chassis_type", "many\n");
    put_cpus(host, "svm hypervisor");
    facts = (struct chassis_facts){0};
    probe_chassis(&host->roots, &facts);
    assert_int_equal(facts.lid, FACT_YES);
    assert_int_equal(facts.dmi_type, 0);
    assert_int_equal(facts.hypervisor, FACT_YES);
}

static void test_cpu_flag_is_a_whole_word(void **state)
{
    struct host *host = *state;
    put_cpus(host, "vmx_extra novmx");
    assert_int_equal(probe_cpu_flag(&host->roots, "vmx"), FACT_NO);
    put_cpus(host, "vmx_extra vmx");
    assert_int_equal(probe_cpu_flag(&host->roots, "vmx"), FACT_YES);
    assert_int_equal(probe_cpu_flag(&host->roots, "sse2"), FACT_YES); /* the last of the line */
}

#define ROUTE_HEAD       "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
#define ROUTE_V4(device) device "\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
#define ZEROS            "00000000000000000000000000000000"

static struct network_facts look(const struct host *host)
{
    struct network_facts facts = {0};
    probe_network(&host->roots, &facts);
    return facts;
}

static void test_wired(void **state)
{
    struct host *host = *state;
    put(host, "proc/net/route",
        ROUTE_HEAD "wlan0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" ROUTE_V4("eno1"));
    put(host, "sys/class/net/eno1/device/vendor", "0x8086\n");
    put(host, "sys/class/net/wlan0/phy80211/index", "0\n"); /* there, but not the default route's */
    struct network_facts facts = look(host);
    assert_int_equal(facts.wireless, FACT_NO);
    assert_string_equal(facts.device, "eno1");
}

static void test_wireless(void **state)
{
    struct host *host = *state;
    put(host, "proc/net/route", ROUTE_HEAD ROUTE_V4("eno1") ROUTE_V4("wlan0"));
    put(host, "sys/class/net/eno1/device/vendor", "0x8086\n");
    put(host, "sys/class/net/wlan0/device/vendor", "0x8086\n");
    put(host, "sys/class/net/wlan0/phy80211/index", "0\n");
    struct network_facts facts = look(host);
    assert_int_equal(facts.wireless, FACT_YES);
    assert_string_equal(facts.device, "wlan0");
}

static void test_bridge_over_radio(void **state)
{
    struct host *host = *state;
    put(host, "proc/net/route", ROUTE_HEAD ROUTE_V4("br0"));
    put(host, "sys/class/net/wlp2s0/wireless/status", "0\n");
    put(host, "sys/class/net/eno1/device/vendor", "0x8086\n");
    put_link(host, "sys/class/net/br0/lower_eno1", "../eno1");
    assert_int_equal(look(host).wireless, FACT_NO);
    put_link(host, "sys/class/net/br0/lower_wlp2s0", "../wlp2s0");
    assert_int_equal(look(host).wireless, FACT_YES);
}

static void test_tunnel_device_is_unknown(void **state)
{
    struct host *host = *state;
    put(host, "proc/net/route", ROUTE_HEAD ROUTE_V4("wg0"));
    put(host, "sys/class/net/wg0/operstate", "unknown\n");
    struct network_facts facts = look(host);
    assert_int_equal(facts.wireless, FACT_UNKNOWN);
    assert_non_null(strstr(facts.error, "wg0"));
}

static void test_ipv6_route(void **state)
{
    struct host *host = *state;
    put(host, "proc/net/ipv6_route",
        ZEROS " 00 " ZEROS " 00 " ZEROS " ffffffff 00000001 00000000 00200200       lo\n"
              "fe800000000000000000000000000000 40 " ZEROS " 00 " ZEROS
              " 00000100 00000001 00000000 00000001     wlan0\n" ZEROS " 00 " ZEROS
              " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eno1\n");
    put(host, "sys/class/net/eno1/device/vendor", "0x8086\n");
    put(host, "sys/class/net/wlan0/phy80211/index", "0\n");
    struct network_facts facts = look(host);
    assert_int_equal(facts.wireless, FACT_NO);
    assert_string_equal(facts.device, "eno1");
}

static void test_sleep(void **state)
{
    struct host *host = *state;
    put(host, "sys/power/state", "freeze mem disk\n");
    struct network_facts facts = look(host);
    assert_int_equal(facts.sleeps, FACT_YES);
    assert_string_equal(facts.sleep_states, "freeze mem disk");
    put_link(host, "etc/systemd/system/suspend.target", "/dev/null");
    assert_int_equal(look(host).sleeps, FACT_YES);
    put_link(host, "etc/systemd/system/sleep.target", "/dev/null");
    assert_int_equal(look(host).sleeps, FACT_NO);
    put(host, "sys/power/state", "\n");
    assert_int_equal(look(host).sleeps, FACT_NO);
}

static struct capacity_facts count(const struct host *host)
{
    struct capacity_facts facts = {0};
    probe_capacity(&host->roots, host->root, &facts);
    return facts;
}

static void put_host(const struct host *host)
{
    put(host, "sys/devices/system/cpu/online", "0-5,8-9\n");
    put(host, "proc/self/status", "Name:\tdoctor\nCpus_allowed:\tfff\nCpus_allowed_list:\t0-11\n");
    put(host, "proc/meminfo", "MemTotal:       16384000 kB\nMemFree:  100 kB\nMemAvailable:    8192000 kB\n");
}

static void test_capacity(void **state)
{
    struct host *host = *state;
    put_host(host);
    struct capacity_facts facts = count(host);
    assert_int_equal(facts.cpus, 8);
    assert_string_equal(facts.cpu_limit, "");
    assert_int_equal(facts.mem_free_mib, 8000);
    assert_true(facts.disk_free_mib > 0);
    assert_string_equal(facts.disk_path, host->root);
    put(host, "proc/self/status", "Cpus_allowed_list:\t4,8-11\n");
    facts = count(host);
    assert_int_equal(facts.cpus, 3);
    assert_string_not_equal(facts.cpu_limit, "");
    static const char *const bad[] = {"", "-1", "0-", "3-1", "0-9999999", "a", "0,,", "0 1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(host, "sys/devices/system/cpu/online", bad[i]);
        assert_int_equal(count(host).cpus, 0);
    }
}

/* What a QEMU holds: its guest's memory, not the pages of files that it shares with the page cache. */
static void test_own_process(void **state)
{
    struct host *host = *state;
    put(host, "proc/77/status",
        "Name:\tqemu-system-x86\nVmRSS:\t  400000 kB\nRssAnon:\t  204800 kB\nRssFile:\t  190000 kB\n"
        "RssShmem:\t    2048 kB\n");
    assert_int_equal(own_process_mib(&host->roots, 77), 202);
    assert_int_equal(own_process_mib(&host->roots, 78), 0);
    assert_int_equal(own_process_mib(&host->roots, 0), 0);
    put(host, "proc/77/status", "Name:\tqemu-system-x86\nVmRSS:\t  400000 kB\n");
    assert_int_equal(own_process_mib(&host->roots, 77), 0);
}

static void test_saved_states(void **state)
{
    static const char node[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct host *host = *state;
    CLEANUP_FREE char *folder = file_join(host->root, "golden");
    assert_int_equal(own_saved_states(folder, node, 3), 0);
    put(host, "golden/berth-01234567-0.json", "{}");
    put(host, "golden/berth-01234567-0.qcow2", "");
    put(host, "golden/berth-01234567-12.json", "{}");
    put(host, "golden/berth-89abcdef-1.json", "{}"); /* another node's */
    put(host, "golden/berth-01234567-2.state", "");  /* one in the making */
    assert_int_equal(own_saved_states(folder, node, 1), 1);
    assert_int_equal(own_saved_states(folder, node, 3), 1);
    assert_int_equal(own_saved_states(folder, node, 13), 2);
}

static void test_cgroup_v2_limits(void **state)
{
    struct host *host = *state;
    put_host(host);
    put(host, "proc/self/cgroup", "0::/system.slice/berthos.service\n");
    put(host, "sys/fs/cgroup/system.slice/berthos.service/cpu.max", "max 100000\n");
    put(host, "sys/fs/cgroup/system.slice/berthos.service/memory.max", "max\n");
    put(host, "sys/fs/cgroup/system.slice/berthos.service/memory.current", "1000000\n");
    assert_int_equal(count(host).cpus, 8);
    assert_int_equal(count(host).mem_free_mib, 8000);
    /* the limit of a group above counts as well */
    put(host, "sys/fs/cgroup/system.slice/cpu.max", "350000 100000\n");
    put(host, "sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
    put(host, "sys/fs/cgroup/system.slice/memory.current", "1610612736\n");
    put(host, "sys/fs/cgroup/system.slice/memory.stat", "anon 5\ninactive_file 268435456\nactive_file 7\n");
    struct capacity_facts facts = count(host);
    assert_int_equal(facts.cpus, 3);
    assert_int_equal(facts.mem_free_mib, 768);
    assert_string_not_equal(facts.mem_limit, "");
    put(host, "sys/fs/cgroup/system.slice/memory.current", "9999999999\n");
    assert_int_equal(count(host).mem_free_mib, 0);
}

static void test_cgroup_v1_limits(void **state)
{
    struct host *host = *state;
    put_host(host);
    /* as in a container: the group's own path is not there, the mount's root is the group */
    put(host, "proc/self/cgroup", "5:cpu,cpuacct:/docker/0a\n4:memory:/docker/0a\n3:cpuset:/docker/0a\n");
    put(host, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
    put(host, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put(host, "sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
    put(host, "sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n");
    put(host, "sys/fs/cgroup/memory/memory.stat", "cache 5\ntotal_inactive_file 0\n");
    assert_int_equal(count(host).cpus, 2);
    assert_int_equal(count(host).mem_free_mib, 512);
    put(host, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put(host, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(count(host).cpus, 8);
    assert_int_equal(count(host).mem_free_mib, 8000);
}

static void test_cpu_sample(void **state)
{
    struct host *host = *state;
    put(host, "proc/stat", "cpu  10 20 30 40 50 60 70 80 0 0\ncpu0 1 2 3\n");
    struct probe_cpu_sample sample = probe_cpu_sample(&host->roots);
    assert_true(sample.known);
    assert_int_equal(sample.idle, 90);
    assert_int_equal(sample.total, 360);
}

static void test_program(void **state)
{
    struct host *host = *state;
    CLEANUP_FREE char *folder = file_join(host->root, "bin");
    CLEANUP_FREE char *list = text_format("/nonexistent::%s", folder);
    put(host, "bin/cloudflared", "#!/bin/sh\n");
    assert_int_equal(probe_program(list, "cloudflared"), FACT_NO); /* not executable */
    CLEANUP_FREE char *program = file_join(folder, "cloudflared");
    assert_int_equal(chmod(program, 0755), 0);
    assert_int_equal(probe_program(list, "cloudflared"), FACT_YES);
    assert_int_equal(probe_program(NULL, "cloudflared"), FACT_NO);
}

static void test_kvm_that_is_no_device(void **state)
{
    struct host *host = *state;
    struct kvm_facts facts = {0};
    struct probe_user user = {.known = true, .uid = geteuid(), .groups = {getegid()}, .group_count = 1};
    put(host, "dev/kvm", "not a device");
    put_cpus(host, "vmx");
    put(host, "sys/module/kvm_intel/refcnt", "0\n");
    probe_kvm(&host->roots, &user, &facts);
    assert_int_equal(facts.device, FACT_NO);
    assert_int_equal(facts.cpu_flag, FACT_YES);
    assert_int_equal(facts.module, FACT_YES);
    /* a character device that is not KVM opens, and then has no version */
    CLEANUP_FREE char *path = file_join(host->dev, "kvm");
    unlink(path);
    assert_int_equal(symlink("/dev/zero", path), 0);
    facts = (struct kvm_facts){0};
    probe_kvm(&host->roots, &user, &facts);
    assert_int_equal(facts.device, FACT_YES);
    assert_int_equal(facts.opens_for_qemu, FACT_YES);
    assert_int_not_equal(facts.api_version, 12);
    assert_int_equal(facts.loop_ran, FACT_NO);
    assert_non_null(strstr(facts.error, "making a virtual machine"));
}

/* The host that runs the tests: where it has a usable /dev/kvm the loop must end, at whatever speed. */
static void test_kvm_here(void **state)
{
    (void)state;
    struct kvm_facts facts = {0};
    struct probe_user user = {.known = true, .uid = geteuid(), .groups = {getegid()}, .group_count = 1};
    if (access("/dev/kvm", R_OK | W_OK) != 0) {
        print_message("no /dev/kvm for this user: ");
        skip();
    }
    probe_kvm(&probe_roots_host, &user, &facts);
    assert_int_equal(facts.device, FACT_YES);
    assert_int_equal(facts.opens_for_qemu, FACT_YES);
    assert_int_equal(facts.api_version, 12);
    if (facts.loop_ran != FACT_YES)
        fail_msg("%s", facts.error);
    assert_int_equal(facts.loop_turns, 10000);
    assert_true(facts.loop_ns > 0);
}

/* As root the probe becomes QEMU's user, so a mode that keeps it out shows without any reckoning. */
static void test_kvm_for_another_user(void **state)
{
    (void)state;
    struct stat info;
    if (geteuid() != 0 || stat("/dev/kvm", &info) != 0 || (info.st_mode & 0006)) {
        print_message("needs root and a /dev/kvm that is not open to all: ");
        skip();
    }
    struct kvm_facts facts = {0};
    struct probe_user stranger = {.known = true, .uid = 65534, .groups = {65534}, .group_count = 1};
    probe_kvm(&probe_roots_host, &stranger, &facts);
    assert_int_equal(facts.opens_for_us, FACT_YES);
    assert_int_equal(facts.opens_for_qemu, FACT_NO);
    assert_int_not_equal(facts.loop_ran, FACT_YES);
    struct probe_user member = {
        .known = true, .uid = 65534, .groups = {65534, info.st_gid}, .group_count = 2};
    facts = (struct kvm_facts){0};
    probe_kvm(&probe_roots_host, &member, &facts);
    /* without udev the device is root's alone, for its group too */
    assert_int_equal(facts.opens_for_qemu, (info.st_mode & 0060) == 0060 ? FACT_YES : FACT_NO);
    assert_int_equal(geteuid(), 0); /* the child changed, we did not */
}

/* This process stands for a canary that is not as it must be. */
static void assert_sockets(enum fact wanted, const char *words)
{
    struct canary_facts facts = {0};
    probe_process(getpid(), &facts);
    if (facts.no_sockets != wanted || !strstr(facts.sockets_error, words))
        fail_msg("%d: %s", facts.no_sockets, facts.sockets_error);
}

static void test_process(void **state)
{
    (void)state;
    struct canary_facts facts = {0};
    probe_process(getpid(), &facts);
    assert_int_equal(facts.uid_known, FACT_YES);
    assert_int_equal(facts.uid, geteuid());
    assert_int_equal(facts.labelled, FACT_NO); /* whatever confines a test, it is no label of libvirt's */
    assert_sockets(FACT_YES, "");
    static const struct {
        int domain, type;
        const char *words;
    } kinds[] = {{AF_INET, SOCK_STREAM, "tcp socket"},
                 {AF_INET, SOCK_DGRAM, "udp socket"},
                 {AF_INET6, SOCK_STREAM, "tcp6 socket"},
                 {AF_INET6, SOCK_DGRAM, "udp6 socket"}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct sockaddr_storage any = {.ss_family = (sa_family_t)kinds[i].domain};
        CLEANUP_CLOSE int fd = socket(kinds[i].domain, kinds[i].type, 0);
        socklen_t size =
            kinds[i].domain == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if (fd < 0 || bind(fd, (struct sockaddr *)&any, size) < 0)
            continue; /* a host without IPv6 */
        if (kinds[i].type == SOCK_STREAM)
            assert_int_equal(listen(fd, 1), 0);
        assert_sockets(FACT_NO, kinds[i].words);
    }
    {
        CLEANUP_CLOSE int unbound = socket(AF_INET, SOCK_STREAM, 0); /* in no table of the kernel's */
        assert_true(unbound >= 0);
        assert_sockets(FACT_NO, "no unix socket");
    }
    CLEANUP_CLOSE int local = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(local >= 0);
    assert_sockets(FACT_YES, "");
    struct canary_facts none = {0};
    probe_process(0, &none);
    assert_int_equal(none.no_sockets, FACT_UNKNOWN);
    assert_int_equal(none.uid_known, FACT_UNKNOWN);
}

int main(void)
{
#define ON_HOST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        ON_HOST(test_empty_host_is_unknown),
        ON_HOST(test_laptop),
        ON_HOST(test_server),
        ON_HOST(test_cpu_flag_is_a_whole_word),
        ON_HOST(test_wired),
        ON_HOST(test_wireless),
        ON_HOST(test_bridge_over_radio),
        ON_HOST(test_tunnel_device_is_unknown),
        ON_HOST(test_ipv6_route),
        ON_HOST(test_sleep),
        ON_HOST(test_capacity),
        ON_HOST(test_own_process),
        ON_HOST(test_saved_states),
        ON_HOST(test_cgroup_v2_limits),
        ON_HOST(test_cgroup_v1_limits),
        ON_HOST(test_cpu_sample),
        ON_HOST(test_program),
        ON_HOST(test_kvm_that_is_no_device),
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_kvm_here),
        cmocka_unit_test(test_kvm_for_another_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
