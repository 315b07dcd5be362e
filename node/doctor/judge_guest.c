/* The rows about what guests run on and from: runtime, kvm, guest_image, egress. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "doctor/verdict.h"

/* The first thing that the domain capabilities lack, or NULL. */
static const char *missing_feature(const struct runtime_facts *runtime)
{
    if (!runtime->emulator[0])
        return "a QEMU for this host's architecture";
    if (!runtime->machine[0])
        return "the q35 machine";
    if (runtime->video != FACT_YES)
        return "virtio video";
    if (runtime->graphics != FACT_YES)
        return "VNC graphics";
    if (runtime->channel != FACT_YES)
        return "unix channels";
    return runtime->cpu == FACT_YES ? NULL : "the CPU model that guests here use";
}

void judge_runtime(struct verdict *verdict)
{
    const struct runtime_facts *runtime = &verdict->facts->runtime;
    const char *uri = verdict->config->libvirt_uri;
    CLEANUP_FREE char *libvirt = text_version(runtime->libvirt_version);
    CLEANUP_FREE char *qemu = text_version(runtime->qemu_version);
    const char *missing = missing_feature(runtime);
    const char *error = runtime->error[0] ? runtime->error : "it was not asked";
    if (runtime->answers != FACT_YES)
        verdict_fail(verdict,
                     "libvirt does not answer at %s (%s); start it (systemctl start libvirtd) and let this "
                     "user in (group libvirt)",
                     uri, error);
    else if (runtime->libvirt_version == 0 || runtime->qemu_version == 0)
        verdict_fail(verdict, "libvirt answers at %s but cannot say what it can do (%s); see libvirtd's log",
                     uri, error);
    else if (missing)
        verdict_fail(verdict,
                     "libvirt %s with QEMU %s at %s does not offer %s for %s guests; install qemu-system-x86",
                     libvirt, qemu, uri, missing, config_accel_word(verdict->config->accel));
    else if (runtime->converts != FACT_YES)
        verdict_fail(verdict,
                     "libvirt %s with QEMU %s at %s does not take the domain that a lease would start: %s",
                     libvirt, qemu, uri, error);
    else
        verdict_pass(
            verdict,
            "libvirt %s at %s, QEMU %s for %s with %s, and it takes the domain that a lease would start",
            libvirt, uri, qemu, runtime->arch, runtime->machine);
}

/* Why there is no working KVM, with the cure that fits what was read; NULL when it works. *Owned*. */
static char *kvm_problem(const struct kvm_facts *kvm)
{
    if (kvm->device != FACT_YES) {
        const char *cure = "load the module (modprobe kvm_intel or kvm_amd)";
        if (kvm->cpu_flag != FACT_YES)
            cure = kvm->virtual_host == FACT_YES
                       ? "this host is itself a virtual machine without nested virtualization: switch that "
                         "on at its host"
                       : "the CPU shows neither vmx nor svm: switch virtualization on in the firmware";
        else if (kvm->module == FACT_YES)
            cure = "the module is loaded, so virtualization is off in the firmware or /dev lacks the device";
        return text_format("/dev/kvm is not there; %s", cure);
    }
    if (kvm->opens_for_us == FACT_YES && kvm->opens_for_qemu == FACT_NO)
        return text_format(
            "/dev/kvm (mode %04o, group %s) does not open for QEMU's user %s, though it does for this one: "
            "libvirt then probes QEMU anew on every call, which makes a start take a minute; run chgrp kvm "
            "/dev/kvm && chmod 0660 /dev/kvm and add the user to group kvm",
            kvm->mode, kvm->group, kvm->user);
    if (kvm->opens_for_qemu != FACT_YES)
        return text_format("/dev/kvm (mode %04o, group %s) is there but was not opened as QEMU's user "
                           "%s%s%s; add that user and yourself to group %s (never chmod 666)",
                           kvm->mode, kvm->group,
                           kvm->user[0] ? kvm->user : "(unknown while libvirt does not answer)",
                           kvm->error[0] ? ": " : "", kvm->error, kvm->group[0] ? kvm->group : "kvm");
    if (kvm->api_version != 12)
        return text_format("/dev/kvm speaks version %" PRId64 " of its interface, not 12; update the kernel",
                           kvm->api_version);
    if (kvm->loop_ran != FACT_YES || kvm->loop_turns <= 0 || kvm->loop_ns <= 0)
        return text_format(
            "/dev/kvm opens, but a vCPU did not run a short loop to its end (%s); check dmesg for kvm",
            kvm->error[0] ? kvm->error : "it was not tried");
    if ((kvm->loop_ns - 1) / kvm->loop_turns >= KVM_TURN_MAX_NS)
        return text_format(
            "/dev/kvm opens but only emulates: %" PRId64 " turns of a two-instruction loop took %" PRId64
            " us, %" PRId64 " ns a turn, where hardware needs about one (at most %d are allowed); use a host "
            "with hardware virtualization, or nested virtualization switched on",
            kvm->loop_turns, kvm->loop_ns / 1000, kvm->loop_ns / kvm->loop_turns, KVM_TURN_MAX_NS);
    if (kvm->cpu_flag != FACT_YES)
        return text_format("/dev/kvm runs code, but the CPU shows neither vmx nor svm in /proc/cpuinfo, so "
                           "what runs it is not this CPU's virtualization; use another host");
    return NULL;
}

void judge_kvm(struct verdict *verdict)
{
    const struct kvm_facts *kvm = &verdict->facts->kvm;
    CLEANUP_FREE char *problem = kvm_problem(kvm);
    CLEANUP_FREE char *works = NULL;
    if (!problem)
        works = text_format("/dev/kvm opens for QEMU's user %s, and %" PRId64
                            " turns of a loop in a vCPU took %" PRId64 " us (%.1f ns a turn: hardware speed)",
                            kvm->user, kvm->loop_turns, kvm->loop_ns / 1000,
                            (double)kvm->loop_ns / (double)kvm->loop_turns);
    switch (verdict->config->accel) {
    case ACCEL_KVM:
        verdict_say(verdict, problem ? STATUS_FAIL : STATUS_PASS, "%s", problem ? problem : works);
        return;
    case ACCEL_TCG:
        verdict_say(verdict, verdict->public ? STATUS_FAIL : STATUS_WARN,
                    "accel is tcg: guests run in slow software emulation, which is for development in "
                    "private intent only; %s%s",
                    problem ? "as for KVM here: " : "this host has KVM, set accel to kvm: ",
                    problem ? problem : works);
        return;
    }
    verdict_fail(verdict, "accel in node.toml is unknown; set it to kvm");
}

static void judge_found_image(struct verdict *verdict)
{
    const struct image_facts *image = &verdict->facts->image;
    const char *pinned = verdict->config->image_digest;
    if (!image->labels || !image->name[0])
        verdict_fail(verdict, "the image's labels are not known");
    else if (image->readable_by_qemu == FACT_NO)
        verdict_fail(verdict, "the image %s is verified, but %s", image->name, image->readable_error);
    else if (image->readable_by_qemu != FACT_YES)
        verdict_fail(verdict,
                     "the image %s is verified, but whether QEMU's user can read it is unknown while libvirt "
                     "does not say who that is; see the row runtime",
                     image->name);
    else if (verdict->public && image->test_only != FACT_NO)
        verdict_fail(verdict,
                     "the image %s is made for tests, which public intent refuses; run berth image build and "
                     "set image to what it makes",
                     image->name);
    else if (verdict->public && (!pinned || strcmp(pinned, image->manifest_sha256) != 0))
        verdict_fail(verdict,
                     "the image %s is verified, but public intent wants it pinned; set image_digest = \"%s\" "
                     "in node.toml if you trust it",
                     image->name, image->manifest_sha256);
    else
        verdict_pass(verdict,
                     "the image %s is there, its labels are the contract's, its bytes are its manifest's "
                     "(sha256 %.12s...)%s, and QEMU's user can read it%s",
                     image->name, image->manifest_sha256, pinned ? ", which is the pinned one" : "",
                     image->test_only == FACT_NO ? "" : "; it is made for tests");
}

void judge_guest_image(struct verdict *verdict)
{
    const struct image_facts *image = &verdict->facts->image;
    static const char *const problems[] = {
        [IMAGE_STATE_UNKNOWN] = "was not looked at",
        [IMAGE_STATE_MISSING] = "is missing",
        [IMAGE_STATE_STALE] = "is stale",
        [IMAGE_STATE_TAMPERED] = "is not what it says",
        [IMAGE_STATE_UNREADABLE] = "cannot be trusted or read",
    };
    bool listed = (unsigned)image->state < sizeof problems / sizeof problems[0];
    if (image->state == IMAGE_STATE_VERIFIED)
        judge_found_image(verdict);
    else
        verdict_fail(verdict, "the guest image %s: %s", problems[listed ? image->state : IMAGE_STATE_UNKNOWN],
                     image->error[0] ? image->error : "nothing more is known");
}

void judge_egress(struct verdict *verdict)
{
    const struct domain_facts *domain = &verdict->facts->domain;
    const struct canary_facts *canary = &verdict->facts->canary;
    if (verdict->config->egress != EGRESS_DEFAULT_DENY)
        verdict_fail(verdict, "egress in node.toml is not default-deny, and a lease here has no network; set "
                              "it to default-deny");
    else if (domain->inspected != FACT_YES)
        verdict_fail(verdict, "the domain that a lease would start is not known to be without a network: %s",
                     domain->error[0] ? domain->error : "it was not rendered; see the row runtime");
    else if (!verdict->deep)
        verdict_pass(
            verdict,
            "default-deny: the domain that a lease would start has no network device and nothing else "
            "outside the allow-list (its XML was inspected; --deep starts one and looks at the process)");
    else if (canary->started != FACT_YES || canary->gone != FACT_YES)
        verdict_fail(
            verdict, "a paused canary under a lease's own XML was not started, inspected and ended: %s",
            canary->error[0] ? canary->error : "it was not tried; see the rows runtime and guest_image");
    else if (canary->no_sockets != FACT_YES)
        verdict_fail(verdict, "the canary's QEMU is not known to be without network sockets: %s",
                     canary->sockets_error[0] ? canary->sockets_error : "they were not looked at");
    else
        verdict_pass(verdict,
                     "default-deny: a canary under a lease's own XML had nothing outside the allow-list, and "
                     "its QEMU no network socket and no tap (%" PRId64 " ms)",
                     canary->took_ms);
}
