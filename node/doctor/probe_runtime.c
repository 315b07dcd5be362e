/* libvirt: whether it answers, what its QEMU can do, and as whom QEMU runs. Waits at most 23 s: 20 for what
 * it can do, then 3 for a sign of life. */
#include "doctor/probe_runtime.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/user.h"
#include "guest/spec.h"

/* Domain capabilities that libvirt has not cached take over a second, on a busy host several. */
enum { FACTS_TIMEOUT_MS = 20000, PING_TIMEOUT_MS = 3000 };

static enum fact yes_if(bool value)
{
    return value ? FACT_YES : FACT_NO;
}

/* As libvirt does it: the label's group, and all groups of the user's own entry with its primary one. */
static void add_groups_of(const struct passwd *passwd, struct probe_user *user)
{
    enum { MOST = sizeof user->groups / sizeof user->groups[0] - 1 };
    int count = MOST;
    if (getgrouplist(passwd->pw_name, passwd->pw_gid, user->groups + 1, &count) < 0)
        count = MOST; /* it filled all there is and would have had more */
    user->group_count = 1 + (size_t)(count > 0 ? count : 0);
}

/* "+64055:+64055" as libvirt writes DAC labels; without one QEMU runs as the daemon's user, which in session
 * mode is ours. */
static void find_user(const char *dac_label, struct probe_user *user)
{
    int64_t uid, gid;
    CLEANUP_FREE char *label = text_copy(dac_label);
    if (label) {
        char *colon = strchr(label, ':');
        if (label[0] != '+' || !colon || colon[1] != '+')
            return;
        *colon = '\0';
        if (!text_to_integer(label + 1, 0, UINT32_MAX - 1, &uid) ||
            !text_to_integer(colon + 2, 0, UINT32_MAX - 1, &gid))
            return;
    } else {
        uid = geteuid();
        gid = getegid();
    }
    char buffer[4096];
    struct passwd entry, *passwd = NULL;
    user->known = true;
    user->uid = (uid_t)uid;
    user->groups[0] = (gid_t)gid;
    user->group_count = 1;
    if (getpwuid_r(user->uid, &entry, buffer, sizeof buffer, &passwd) == 0 && passwd)
        add_groups_of(passwd, user);
}

static void name_user(const struct probe_user *user, char name[FACT_WORD])
{
    if (!user->known)
        return;
    CLEANUP_FREE char *text = user_label(user->uid);
    probe_copy(name, FACT_WORD, text);
}

static void copy_facts(const struct hypervisor_facts *found, struct facts *facts)
{
    struct runtime_facts *runtime = &facts->runtime;
    runtime->answers = FACT_YES;
    runtime->libvirt_version = found->libvirt_version;
    runtime->qemu_version = found->qemu_version;
    PROBE_COPY(runtime->arch, found->arch);
    PROBE_COPY(runtime->emulator, found->emulator);
    PROBE_COPY(runtime->machine, found->machine);
    PROBE_COPY(runtime->security_models, found->security_models);
    runtime->video = yes_if(found->video_virtio);
    runtime->graphics = yes_if(found->graphics_vnc);
    runtime->channel = yes_if(found->channel_unix);
    runtime->cpu = yes_if(found->cpu_usable);
    facts->capacity.given_known = FACT_YES;
    facts->capacity.vcpu_given = found->vcpu_given;
}

/*
 * As whom QEMU runs in the first berth. From here on the label in *found says that; before, it says who it is
 * where the berth's is not to be had, as under KVM on most hosts.
 */
static void find_users(const struct config *config, const char *node_id, struct hypervisor_facts *found,
                       struct probe_users *users, struct facts *facts)
{
    enum { BERTH = 0 };
    char label[GUEST_LABEL_SIZE];
    bool own = node_id && guest_label(found->qemu_label, node_id, BERTH, "/dev/kvm", label);
    find_user(own ? label : found->qemu_label, &users->kvm);
    if (config->accel == ACCEL_TCG)
        own = node_id && guest_label(found->qemu_label, node_id, BERTH, NULL, label);
    if (own) {
        free(found->qemu_label);
        found->qemu_label = text_copy(label);
    }
    find_user(found->qemu_label, &users->now);
    name_user(&users->kvm, facts->kvm.user);
    name_user(&users->now, facts->runtime.user);
    facts->runtime.user_known = users->now.known ? FACT_YES : FACT_UNKNOWN;
    facts->runtime.user_uid = users->now.known ? users->now.uid : 0;
    facts->runtime.own_users = yes_if(own);
}

void probe_runtime(struct hypervisor *hypervisor, const struct config *config, const char *node_id,
                   struct hypervisor_facts *found, struct probe_users *users, struct facts *facts)
{
    struct error err = ERROR_INIT;
    if (hypervisor_facts(hypervisor, config->accel == ACCEL_KVM, node_id, FACTS_TIMEOUT_MS, found, &err) <
        0) {
        struct error ignored = ERROR_INIT;
        PROBE_COPY(facts->runtime.error, err.text);
        facts->runtime.answers = yes_if(hypervisor_ping(hypervisor, PING_TIMEOUT_MS, &ignored) == 0);
        return;
    }
    copy_facts(found, facts);
    find_users(config, node_id, found, users, facts);
}

const struct member probe_runtime_members[] = {
    FACT_IS(runtime, answers),
    FACT_OWN(runtime, libvirt_version, FACT_VERSION),
    FACT_OWN(runtime, qemu_version, FACT_VERSION),
    FACT_SAYS(runtime, arch),
    FACT_SAYS(runtime, emulator),
    FACT_SAYS(runtime, machine),
    FACT_IS(runtime, video),
    FACT_IS(runtime, graphics),
    FACT_IS(runtime, channel),
    FACT_IS(runtime, cpu),
    FACT_IS(runtime, converts),
    FACT_SAYS(runtime, error),
    FACT_SAYS(runtime, security_models),
    FACT_IS(runtime, user_known),
    FACT_COUNTS(runtime, user_uid),
    FACT_SAYS(runtime, user),
    FACT_IS(runtime, own_users),
    FACT_ROWS_END,
};
