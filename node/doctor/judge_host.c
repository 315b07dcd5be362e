/* The rows about the machine: capacity, chassis, availability, confinement. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "doctor/capacity.h"
#include "doctor/verdict.h"

static void idle_text(const struct capacity_facts *capacity, char text[64])
{
    if (capacity->idle_permille < 0 || capacity->idle_permille > 1000)
        snprintf(text, 64, "idle share unknown");
    else
        snprintf(text, 64, "%" PRId64 "%% idle now", capacity->idle_permille / 10);
}

/* What of the free memory this node's own guests hold: ", with the 900 MiB of ...". *Owned*. */
static char *own_text(const struct capacity_facts *capacity)
{
    if (capacity->spares > 0)
        return text_format(", with the %" PRId64 " MiB of this node's own guests (%" PRId64 " MiB in %" PRId64
                           " that %s for a lease)",
                           capacity->own_mem_mib, capacity->spare_mem_mib, capacity->spares,
                           capacity->spares == 1 ? "waits" : "wait");
    if (capacity->own_mem_mib > 0)
        return text_format(", with the %" PRId64 " MiB of this node's own guests", capacity->own_mem_mib);
    return text_copy("");
}

/* "6000 MiB of memory free by the control group's limit" and who holds it. *Owned*. */
static char *memory_text(const struct capacity_facts *capacity)
{
    CLEANUP_FREE char *own = own_text(capacity);
    return text_format("%" PRId64 " MiB of memory free%s%s%s", capacity_free_mem_mib(capacity),
                       capacity->mem_limit[0] ? " by " : "", capacity->mem_limit, own);
}

/* "100000 MiB of disk free for overlays and 2 saved states at /var/lib/berthos". *Owned*. */
static char *disk_text(const struct capacity_facts *capacity, const struct capacity_need *need)
{
    CLEANUP_FREE char *states = need->states == 0 ? text_copy("")
                                : need->states == 1
                                    ? text_copy(" and a saved state")
                                    : text_format(" and %" PRId64 " saved states", need->states);
    return text_format("%" PRId64 " MiB of disk free for overlays%s at %s",
                       capacity->disk_free_mib > 0 ? capacity->disk_free_mib : 0, states,
                       capacity->disk_path);
}

void judge_capacity(struct verdict *verdict)
{
    const struct config *config = verdict->config;
    const struct capacity_facts *capacity = &verdict->facts->capacity;
    char idle[64], ignored[WARM_WHY_SIZE];
    enum config_warm warm = capacity_warm(config, capacity, ignored);
    struct capacity_need need = capacity_need(config, capacity, warm);
    int64_t vcpu = capacity_free_vcpu(config, capacity), need_disk_mib = need.disk_mib + need.states_mib;
    idle_text(capacity, idle);
    bool one = config->berths == 1;
    CLEANUP_FREE char *who =
        one ? text_copy("a lease") : text_format("leases in %" PRId64 " berths", config->berths);
    const char *needs = one ? "needs" : "need";
    const char *fewer = one ? "" : ", or fewer berths";
    CLEANUP_FREE char *cpu =
        text_format("%" PRId64 " vCPU free of %" PRId64 " CPUs%s%s, %" PRId64 " given to other guests, %s",
                    vcpu, capacity->cpus, capacity->cpu_limit[0] ? " by " : "", capacity->cpu_limit,
                    capacity->vcpu_given, idle);
    CLEANUP_FREE char *memory = memory_text(capacity);
    CLEANUP_FREE char *disk = disk_text(capacity, &need);
    if (vcpu < need.vcpu)
        verdict_fail(verdict,
                     "%s; %s %s %" PRId64
                     "; stop other guests, or lower vcpu in node.toml (%d in all at least)%s%s",
                     cpu, who, needs, need.vcpu, CAPACITY_MIN_VCPU, fewer,
                     config->accel == ACCEL_TCG ? ", or raise vcpu_overcommit" : "");
    else if (capacity_free_mem_mib(capacity) < need.mem_mib)
        verdict_fail(verdict,
                     "%s; %s %s %" PRId64
                     " MiB; free memory, or lower mem_gib in node.toml (%d in all at least)%s",
                     memory, who, needs, need.mem_mib, CAPACITY_MIN_MEM_MIB / 1024, fewer);
    else if (capacity->disk_fault[0])
        verdict_fail(verdict, "%s", capacity->disk_fault);
    else if (capacity->disk_free_mib < need_disk_mib)
        verdict_fail(verdict,
                     "%s; %s %s %" PRId64 " MiB%s; make room, or set state_dir to a larger file system%s%s",
                     disk, who, needs, need_disk_mib, need.states ? " with what is saved" : "", fewer,
                     need.states ? ", or set warm to off" : "");
    else
        verdict_pass(verdict, "%s; %s; %s; enough for %s", cpu, memory, disk, who);
}

/* SMBIOS 3.6 section 7.4.1, the types of things that are carried around. */
static bool portable_chassis(int64_t type)
{
    static const int64_t types[] = {8, 9, 10, 11, 12, 14, 30, 31, 32};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i] == type)
            return true;
    return false;
}

/* The first thing measured that contradicts the attested chassis, or that could not be measured; NULL when
 * there is none. *Owned*. */
static char *chassis_contradiction(const struct config *config, const struct chassis_facts *chassis)
{
    if (portable_chassis(chassis->dmi_type))
        return text_format("DMI says that it is a portable computer (chassis type %" PRId64 ", %s)",
                           chassis->dmi_type, chassis->product);
    if (chassis->battery == FACT_YES)
        return text_format("it has a battery (%s)", chassis->battery_name);
    if (chassis->lid == FACT_YES)
        return text_copy("it has a lid");
    if (chassis->hypervisor == FACT_YES &&
        (config->chassis == CHASSIS_SERVER || config->class == CLASS_DEDICATED_SERVER))
        return text_format("the CPU says that this host is itself a virtual machine, not a %s; set %s",
                           config->chassis == CHASSIS_SERVER ? "server" : "dedicated server",
                           config->chassis == CHASSIS_SERVER ? "chassis to vm-host" : "class to vm-guest");
    if (chassis->dmi_type < 1 || chassis->dmi_type > 36)
        return text_copy("DMI does not say what kind of chassis this is (/sys/class/dmi/id/chassis_type)");
    if (chassis->battery != FACT_NO || chassis->lid != FACT_NO)
        return text_copy("whether it has a battery or a lid cannot be told from /sys and /proc");
    if (chassis->hypervisor != FACT_NO && chassis->hypervisor != FACT_YES)
        return text_copy("whether it is a virtual machine cannot be told from /proc/cpuinfo");
    return NULL;
}

void judge_chassis(struct verdict *verdict)
{
    const struct config *config = verdict->config;
    const char *word = config_chassis_word(config->chassis);
    bool attested = config->chassis == CHASSIS_SERVER || config->chassis == CHASSIS_VM_HOST;
    CLEANUP_FREE char *contradiction = chassis_contradiction(config, &verdict->facts->chassis);
    if (!attested)
        verdict_fail(verdict,
                     "chassis is %s in node.toml%s%s; public intent wants server or vm-host, attested by you",
                     word, contradiction ? ", and " : "", contradiction ? contradiction : "");
    else if (contradiction)
        verdict_fail(
            verdict,
            "chassis is attested as %s, but %s; public intent needs a host where nothing contradicts it",
            word, contradiction);
    else
        verdict_pass(verdict,
                     "chassis is attested as %s, and DMI (type %" PRId64
                     "), batteries, lid and CPU do not contradict it",
                     word, verdict->facts->chassis.dmi_type);
}

void judge_availability(struct verdict *verdict)
{
    const struct config *config = verdict->config;
    const struct network_facts *network = &verdict->facts->network;
    if (network->wireless == FACT_YES)
        verdict_fail(verdict,
                     "the default route goes over %s, which is wireless; public intent wants a cable",
                     network->device);
    else if (!config->wired || !config->always_on)
        verdict_fail(verdict,
                     "wired is %s and always_on is %s in node.toml; public intent wants both attested as "
                     "true, where they are",
                     config->wired ? "true" : "false", config->always_on ? "true" : "false");
    else if (network->wireless != FACT_NO)
        verdict_fail(verdict, "wired is attested, but the device of the default route cannot be judged: %s",
                     network->error[0] ? network->error : "it was not looked at");
    else if (network->sleeps != FACT_NO)
        verdict_fail(verdict,
                     "always_on is attested, but this host %s (/sys/power/state: %s); run systemctl mask "
                     "sleep.target suspend.target hibernate.target hybrid-sleep.target",
                     network->sleeps == FACT_YES ? "can be suspended" : "is not known to stay awake",
                     network->sleep_states[0] ? network->sleep_states : "not read");
    else
        verdict_pass(verdict,
                     "wired and always_on are attested; the default route goes over %s, which is not "
                     "wireless, and the host does not suspend",
                     network->device);
}

/* What a process or a configuration lacks, and what to do about each. */
struct lacks {
    struct text_buffer required, wished, cures;
};

static void free_lacks(struct lacks *lacks)
{
    free(lacks->required.text);
    free(lacks->wished.text);
    free(lacks->cures.text);
}

static void add_lack(struct lacks *lacks, struct text_buffer *list, const char *layer, const char *cure)
{
    text_join(list, ", ", "%s", layer);
    text_join(&lacks->cures, "; ", "%s", cure);
}

static const char user_cure[] = "set user = \"libvirt-qemu\" in /etc/libvirt/qemu.conf";
static const char label_cure[] = "install AppArmor (apt install apparmor), boot with it (kernel parameter "
                                 "apparmor=1) and restart libvirtd";
static const char seccomp_cure[] = "set seccomp_sandbox = 1 in /etc/libvirt/qemu.conf";
static const char mounts_cure[] =
    "set namespaces = [ \"mount\" ] in /etc/libvirt/qemu.conf and run libvirtd where it may make them";

/* Whether the list of libvirt's security models has one that confines: DAC alone is plain users. */
static bool confining_model(const char *models)
{
    return strstr(models, "apparmor") || strstr(models, "selinux");
}

/* From a process: the three layers that public intent requires, then what is good to have. */
static void look_at_canary(const struct canary_facts *canary, struct lacks *lacks)
{
    if (canary->uid_known != FACT_YES || canary->uid <= 0)
        add_lack(lacks, &lacks->required,
                 canary->uid_known == FACT_YES ? "QEMU runs as root" : "QEMU's user is not known", user_cure);
    if (canary->labelled != FACT_YES)
        add_lack(lacks, &lacks->required, "no enforced AppArmor or SELinux label", label_cure);
    if (canary->seccomp != FACT_YES)
        add_lack(lacks, &lacks->required, "no seccomp filter", seccomp_cure);
    if (canary->no_new_privs != FACT_YES)
        add_lack(lacks, &lacks->wished, "no_new_privs is not set", seccomp_cure);
    if (canary->own_mounts != FACT_YES)
        add_lack(lacks, &lacks->wished, "no mount namespace of its own", mounts_cure);
}

/* Guests of one user that nothing else keeps apart could, out of their QEMU, reach each other's. */
static bool share_a_user(const struct verdict *verdict)
{
    return verdict->config->berths > 1 && verdict->facts->runtime.own_users != FACT_YES;
}

/* What keeps the guests of several berths apart; "" for one berth. Static. */
static const char *apart_text(const struct verdict *verdict)
{
    if (share_a_user(verdict))
        return "; the berths' guests share that user, and their labels keep them apart";
    return verdict->config->berths > 1 ? "; each berth's guest has such a user of its own" : "";
}

static void look_at_neighbours(const struct verdict *verdict, bool labelled, struct lacks *lacks)
{
    if (share_a_user(verdict) && !labelled)
        add_lack(lacks, &lacks->required, "the berths' guests share a user and nothing else keeps them apart",
                 "as root the node gives each berth a user of its own, or set berths = 1");
}

static void look_at_configuration(const struct facts *facts, struct lacks *lacks)
{
    const struct runtime_facts *runtime = &facts->runtime;
    if (runtime->user_known != FACT_YES || runtime->user_uid <= 0)
        add_lack(lacks, &lacks->required,
                 runtime->user_known == FACT_YES ? "QEMU would run as root" : "QEMU's user is not known",
                 user_cure);
    if (!confining_model(runtime->security_models))
        add_lack(lacks, &lacks->required, "no AppArmor or SELinux driver is active in libvirt", label_cure);
    if (facts->domain.sandboxed != FACT_YES)
        add_lack(lacks, &lacks->required, "QEMU's seccomp sandbox is not switched on", seccomp_cure);
}

void judge_confinement(struct verdict *verdict)
{
    const struct facts *facts = verdict->facts;
    CLEANUP(free_lacks) struct lacks lacks = {0};
    if (verdict->deep)
        look_at_canary(&facts->canary, &lacks);
    else
        look_at_configuration(facts, &lacks);
    look_at_neighbours(verdict,
                       verdict->deep ? facts->canary.labelled == FACT_YES
                                     : confining_model(facts->runtime.security_models),
                       &lacks);
    const char *source = verdict->deep ? "the canary's process" : "libvirt's configuration";
    if (verdict->deep && facts->canary.started != FACT_YES && facts->canary.labelled == FACT_UNKNOWN)
        verdict_fail(verdict, "no canary was started, so no process could be looked at; see the rows egress, "
                              "runtime and guest_image");
    else if (lacks.required.text)
        verdict_fail(verdict, "by %s a layer is missing: %s%s%s; %s", source, lacks.required.text,
                     lacks.wished.text ? ", " : "", lacks.wished.text ? lacks.wished.text : "",
                     lacks.cures.text);
    else if (lacks.wished.text)
        verdict_warn(verdict,
                     "by %s QEMU is not root (uid %" PRId64 "), labelled %s and under seccomp%s, but: %s; %s",
                     source, facts->canary.uid, facts->canary.label, apart_text(verdict), lacks.wished.text,
                     lacks.cures.text);
    else if (verdict->deep)
        verdict_pass(verdict,
                     "by %s QEMU runs as uid %" PRId64 ", labelled %s, under seccomp, in its own mounts%s",
                     source, facts->canary.uid, facts->canary.label, apart_text(verdict));
    else
        verdict_pass(verdict, "by %s QEMU runs as %s, under %s and seccomp%s", source, facts->runtime.user,
                     facts->runtime.security_models, apart_text(verdict));
}
