/*
 * KVM, measured: a child process becomes QEMU's user where it may, opens /dev/kvm and times a loop in a vCPU
 * of its own (https://docs.kernel.org/virt/kvm/api.html). A process, because only a process can change its
 * user alone, and because one that never comes back can be killed. Between fork() and _exit() it makes
 * system calls only: other threads' locks may be held for ever there. Bound: 1 s, then the child is killed.
 */
#include "doctor/probe_kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum { CHILD_TIMEOUT_MS = 5000, LOOP_TURNS = 10000, ROUNDS = 5 };

/* What the child says: how far it came, and errno there. */
enum step {
    STEP_USER,
    STEP_OPEN,
    STEP_VERSION,
    STEP_VM,
    STEP_MEMORY,
    STEP_VCPU,
    STEP_REGISTERS,
    STEP_RUN,
    STEP_DONE
};

struct answer {
    enum step step;
    int failure;
    int version;
    int64_t loop_ns;
};

#ifdef __x86_64__
#include <linux/kvm.h>

/* Guest-physical addresses of the four pages. */
enum { PML4 = 0x1000, PDPT = 0x2000, DIRECTORY = 0x3000, CODE = 0x4000, GUEST_BYTES = 0x5000 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* 64-bit code that counts ecx down to 0, writes to port 0x10 (which stops KVM_RUN) and starts again. */
static void write_guest(unsigned char *memory)
{
    /* clang-format off */
    static const unsigned char code[] = {
        0xb9, LOOP_TURNS & 0xff, LOOP_TURNS >> 8, 0, 0, /* mov ecx, LOOP_TURNS */
        0xff, 0xc9,                                     /* dec ecx */
        0x75, 0xfc,                                     /* jnz to the dec */
        0xe6, 0x10,                                     /* out 0x10, al */
        0xeb, 0xf3,                                     /* jmp to the start */
    };
    /* clang-format on */
    const uint64_t present_writable = 3, large_page = 0x80;
    uint64_t entry = PDPT | present_writable;
    memcpy(memory + PML4, &entry, sizeof entry);
    entry = DIRECTORY | present_writable;
    memcpy(memory + PDPT, &entry, sizeof entry);
    entry = present_writable | large_page;
    memcpy(memory + DIRECTORY, &entry, sizeof entry);
    memcpy(memory + CODE, code, sizeof code);
}

/* Long mode with one identity-mapped large page; the flags are those of the processor's manual. */
static int set_registers(int vcpu)
{
    struct kvm_sregs sregs;
    struct kvm_regs regs = {.rip = CODE, .rflags = 2};
    if (ioctl(vcpu, KVM_GET_SREGS, &sregs) < 0)
        return -1;
    struct kvm_segment code = {
        .limit = 0xffffffff, .selector = 8, .type = 11, .present = 1, .s = 1, .l = 1, .g = 1};
    struct kvm_segment data = code;
    data.type = 3;
    data.selector = 16;
    data.l = 0;
    sregs.cs = code;
    sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = data;
    sregs.cr3 = PML4;
    sregs.cr4 = 1u << 5;                 /* PAE */
    sregs.cr0 = 1u << 31 | 1u << 4 | 1u; /* PG, ET, PE */
    sregs.efer = 1u << 10 | 1u << 8;     /* LMA, LME */
    return ioctl(vcpu, KVM_SET_SREGS, &sregs) < 0 || ioctl(vcpu, KVM_SET_REGS, &regs) < 0 ? -1 : 0;
}

/* The fastest of some rounds: a busy host may stop any of them. The first one only warms up. */
static int time_loop(int vcpu, const struct kvm_run *run, int64_t *best_ns)
{
    *best_ns = INT64_MAX;
    for (int round = 0; round <= ROUNDS; round++) {
        int64_t start = now_ns();
        if (ioctl(vcpu, KVM_RUN, 0) < 0)
            return -1;
        int64_t took = now_ns() - start;
        if (run->exit_reason != KVM_EXIT_IO) {
            errno = EPROTO;
            return -1;
        }
        if (round > 0 && took < *best_ns)
            *best_ns = took;
    }
    return 0;
}

static void run_vcpu(int kvm, struct answer *answer)
{
    answer->step = STEP_VM;
    int vm = ioctl(kvm, KVM_CREATE_VM, 0);
    if (vm < 0)
        return;
    answer->step = STEP_MEMORY;
    unsigned char *memory =
        mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    write_guest(memory);
    struct kvm_userspace_memory_region region = {.memory_size = GUEST_BYTES,
                                                 .userspace_addr = (uint64_t)(uintptr_t)memory};
    if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
        return;
    answer->step = STEP_VCPU;
    int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
    int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    if (vcpu < 0 || size < (int)sizeof(struct kvm_run))
        return;
    const struct kvm_run *run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
    if (run == MAP_FAILED)
        return;
    answer->step = STEP_REGISTERS;
    if (set_registers(vcpu) < 0)
        return;
    answer->step = STEP_RUN;
    if (time_loop(vcpu, run, &answer->loop_ns) == 0)
        answer->step = STEP_DONE;
}

static int get_version(int kvm)
{
    return ioctl(kvm, KVM_GET_API_VERSION, 0);
}
#else
/* The loop is machine code for x86-64: elsewhere nothing is measured, and what is not measured fails. */
static void run_vcpu(int kvm, struct answer *answer)
{
    (void)kvm;
    answer->step = STEP_VM;
    errno = ENOSYS;
}

static int get_version(int kvm)
{
    (void)kvm;
    return 0;
}
#endif

/* Raw system calls: the library's would try to change every thread of the process that was forked. */
static int become_user(const struct probe_user *user)
{
    gid_t gid = user->group_count ? user->groups[0] : (gid_t)-1;
    if (syscall(SYS_setgroups, user->group_count, user->groups) < 0 ||
        syscall(SYS_setresgid, gid, gid, gid) < 0 ||
        syscall(SYS_setresuid, user->uid, user->uid, user->uid) < 0)
        return -1;
    return 0;
}

static void run_child(const char *device, const struct probe_user *user, int output)
{
    struct answer answer = {.step = STEP_USER};
    errno = 0;
    if (!user || become_user(user) == 0) {
        answer.step = STEP_OPEN;
        int kvm = open(device, O_RDWR | O_CLOEXEC);
        if (kvm >= 0) {
            answer.step = STEP_VERSION;
            answer.version = get_version(kvm);
            run_vcpu(kvm, &answer);
        }
    }
    answer.failure = answer.step == STEP_DONE ? 0 : errno;
    _exit(write(output, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

/* Runs the child as `user` (NULL: as we are). False when it said nothing in time. */
static bool ask_child(const char *device, const struct probe_user *user, struct answer *answer)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return false;
    CLEANUP_CLOSE int readable = pipes[0];
    CLEANUP_CLOSE int writable = pipes[1];
    pid_t pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0)
        run_child(device, user, writable);
    close(TAKE_FD(writable));
    struct pollfd ready = {.fd = readable, .events = POLLIN};
    int64_t deadline = clock_deadline(CHILD_TIMEOUT_MS);
    int polled;
    do
        polled = poll(&ready, 1, clock_left_ms(deadline));
    while (polled < 0 && errno == EINTR);
    bool said = polled > 0 && read(readable, answer, sizeof *answer) == sizeof *answer;
    if (!said)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return said;
}

static void set_error(struct kvm_facts *facts, const struct answer *answer)
{
    static const char *const words[] = {[STEP_USER] = "becoming QEMU's user",
                                        [STEP_OPEN] = "opening it",
                                        [STEP_VERSION] = "asking its version",
                                        [STEP_VM] = "making a virtual machine",
                                        [STEP_MEMORY] = "giving it memory",
                                        [STEP_VCPU] = "making a vCPU",
                                        [STEP_REGISTERS] = "setting its registers",
                                        [STEP_RUN] = "running it",
                                        [STEP_DONE] = "nothing"};
    char reason[128];
    CLEANUP_FREE char *text =
        text_format("%s failed: %s", words[answer->step], strerror_r(answer->failure, reason, sizeof reason));
    PROBE_COPY(facts->error, text);
}

/* By owner and mode, for a user that we cannot become. */
static enum fact mode_allows(const struct stat *info, const struct probe_user *user)
{
    unsigned bits = info->st_mode & 7;
    if (user->uid == 0)
        return FACT_YES;
    for (size_t i = 0; i < user->group_count; i++)
        if (user->groups[i] == info->st_gid)
            bits = (info->st_mode >> 3) & 7;
    if (user->uid == info->st_uid)
        bits = (info->st_mode >> 6) & 7;
    return (bits & 6) == 6 ? FACT_YES : FACT_NO;
}

static void look_at_device(const struct stat *info, struct kvm_facts *facts)
{
    char buffer[4096];
    struct group entry, *found = NULL;
    facts->mode = info->st_mode & 07777;
    CLEANUP_FREE char *number = text_format("%u", (unsigned)info->st_gid);
    bool named = getgrgid_r(info->st_gid, &entry, buffer, sizeof buffer, &found) == 0 && found;
    PROBE_COPY(facts->group, named ? found->gr_name : number);
}

static void take_measure(const struct answer *answer, struct kvm_facts *facts)
{
    facts->api_version = answer->version;
    if (answer->step == STEP_DONE) {
        facts->loop_ran = FACT_YES;
        facts->loop_turns = LOOP_TURNS;
        facts->loop_ns = answer->loop_ns;
    } else {
        facts->loop_ran = FACT_NO;
        set_error(facts, answer);
    }
}

static void measure_device(const char *device, const struct stat *info, const struct probe_user *user,
                           struct kvm_facts *facts)
{
    struct answer answer;
    CLEANUP_CLOSE int ours = open(device, O_RDWR | O_CLOEXEC);
    facts->opens_for_us = ours >= 0 ? FACT_YES : FACT_NO;
    bool become_it = user->known && geteuid() == 0;
    bool is_us = user->known && user->uid == geteuid();
    if (!ask_child(device, become_it ? user : NULL, &answer)) {
        PROBE_COPY(facts->error, "the probe's process said nothing within five seconds");
        return;
    }
    if (!user->known)
        facts->opens_for_qemu = FACT_UNKNOWN;
    else if (become_it || is_us)
        facts->opens_for_qemu = answer.step > STEP_OPEN    ? FACT_YES
                                : answer.step == STEP_OPEN ? FACT_NO
                                                           : FACT_UNKNOWN;
    else
        facts->opens_for_qemu = mode_allows(info, user);
    if (answer.step > STEP_OPEN)
        take_measure(&answer, facts);
    else
        set_error(facts, &answer);
}

void probe_kvm(const struct probe_roots *roots, const struct probe_user *user, struct kvm_facts *facts)
{
    enum fact vmx = probe_cpu_flag(roots, "vmx"), svm = probe_cpu_flag(roots, "svm");
    facts->cpu_flag = vmx == FACT_YES || svm == FACT_YES ? FACT_YES : vmx;
    facts->virtual_host = probe_cpu_flag(roots, "hypervisor");
    enum fact intel = probe_exists(roots->sys, "module/kvm_intel"),
              amd = probe_exists(roots->sys, "module/kvm_amd");
    facts->module = intel == FACT_YES || amd == FACT_YES ? FACT_YES : intel;
    CLEANUP_FREE char *device = file_join(roots->dev, "kvm");
    struct stat info;
    if (stat(device, &info) < 0) {
        facts->device = errno == ENOENT || errno == ENOTDIR ? FACT_NO : FACT_UNKNOWN;
        return;
    }
    facts->device = S_ISCHR(info.st_mode) ? FACT_YES : FACT_NO;
    if (facts->device != FACT_YES)
        return;
    look_at_device(&info, facts);
    measure_device(device, &info, user, facts);
}

const struct member probe_kvm_members[] = {
    FACT_IS(kvm, device),          FACT_IS(kvm, cpu_flag),     FACT_IS(kvm, module),
    FACT_IS(kvm, virtual_host),    FACT_IS(kvm, opens_for_us), FACT_IS(kvm, opens_for_qemu),
    FACT_SAYS(kvm, user),          FACT_SAYS(kvm, group),      FACT_OWN(kvm, mode, FACT_MODE),
    FACT_COUNTS(kvm, api_version), FACT_IS(kvm, loop_ran),     FACT_COUNTS(kvm, loop_turns),
    FACT_COUNTS(kvm, loop_ns),     FACT_SAYS(kvm, error),      FACT_ROWS_END,
};
