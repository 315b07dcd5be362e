/* Read from the capabilities' XML: https://libvirt.org/formatdomaincaps.html. */
#include "guest/hypervisor_facts.h"

#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "guest/call.h"
#include "guest/libvirt_error.h"
#include "guest/metadata.h"
#include "guest/xml.h"

struct facts_state {
    bool kvm;
    char *node_id;                 /* or NULL */
    struct hypervisor_facts facts; /* out */
};

void hypervisor_facts_clear(struct hypervisor_facts *facts)
{
    free(facts->arch);
    free(facts->emulator);
    free(facts->machine);
    free(facts->security_models);
    free(facts->qemu_label);
    *facts = (struct hypervisor_facts){0};
}

static void clear_facts(void *state)
{
    struct facts_state *asked = state;
    hypervisor_facts_clear(&asked->facts);
    free(asked->node_id);
}

/* "apparmor dac" from <secmodel><model>apparmor</model>...; a model called none is none. */
static char *read_security_models(xmlDoc *capabilities)
{
    struct text_buffer list = {0};
    for (int i = 1; i <= 8; i++) {
        CLEANUP_FREE char *path = text_format("string(/capabilities/host/secmodel[%d]/model)", i);
        CLEANUP_FREE char *model = guest_xml_string(capabilities, path);
        if (model && strcmp(model, "none") != 0)
            text_join(&list, " ", "%s", model);
    }
    return list.text ? list.text : text_copy("");
}

static int read_host(virConnectPtr connection, struct facts_state *asked, struct error *err)
{
    CLEANUP_FREE char *text = virConnectGetCapabilities(connection);
    if (!text)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot read the host's capabilities");
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(text, "the host's capabilities", err);
    if (!doc)
        return -1;
    asked->facts.arch = guest_xml_string(doc, "string(/capabilities/host/cpu/arch)");
    asked->facts.security_models = read_security_models(doc);
    asked->facts.qemu_label = guest_xml_string(
        doc, asked->kvm ? "string(/capabilities/host/secmodel[model='dac']/baselabel[@type='kvm'])"
                        : "string(/capabilities/host/secmodel[model='dac']/baselabel[@type='qemu'])");
    return 0;
}

static int read_domain(virConnectPtr connection, struct facts_state *asked, struct error *err)
{
    struct hypervisor_facts *facts = &asked->facts;
    CLEANUP_FREE char *text =
        virConnectGetDomainCapabilities(connection, NULL, facts->arch, "q35", asked->kvm ? "kvm" : "qemu", 0);
    if (!text)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot read what a q35 guest under %s can have",
                             asked->kvm ? "KVM" : "software emulation");
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(text, "the domain capabilities", err);
    if (!doc)
        return -1;
    facts->emulator = guest_xml_string(doc, "string(/domainCapabilities/path)");
    facts->machine = guest_xml_string(doc, "string(/domainCapabilities/machine)");
    facts->video_virtio = guest_xml_has(
        doc, "/domainCapabilities/devices/video[@supported='yes']/enum[@name='modelType']/value[.='virtio']");
    facts->graphics_vnc = guest_xml_has(
        doc, "/domainCapabilities/devices/graphics[@supported='yes']/enum[@name='type']/value[.='vnc']");
    facts->channel_unix =
        !guest_xml_has(doc, "/domainCapabilities/devices/channel") ||
        guest_xml_has(
            doc, "/domainCapabilities/devices/channel[@supported='yes']/enum[@name='type']/value[.='unix']");
    facts->cpu_usable = guest_xml_has(
        doc, asked->kvm ? "/domainCapabilities/cpu/mode[@name='host-passthrough'][@supported='yes']"
                        : "/domainCapabilities/cpu/mode[@name='maximum'][@supported='yes']");
    return 0;
}

static int count_vcpus(virConnectPtr connection, void *state, struct error *err)
{
    struct facts_state *asked = state;
    virDomainPtr *domains;
    int count = virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    if (count < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot list the running guests");
    for (int i = 0; i < count; i++) {
        CLEANUP_FREE char *node_id = NULL;
        CLEANUP_FREE char *lease_id = NULL;
        virDomainInfo info;
        bool ours = asked->node_id && metadata_read(domains[i], &node_id, &lease_id) &&
                    strcmp(node_id, asked->node_id) == 0;
        if (!ours && virDomainGetInfo(domains[i], &info) == 0)
            asked->facts.vcpu_given += info.nrVirtCpu;
        virDomainFree(domains[i]);
    }
    free(domains);
    return 0;
}

static int read_facts(virConnectPtr connection, void *state, struct error *err)
{
    struct facts_state *asked = state;
    if (virConnectGetLibVersion(connection, &asked->facts.libvirt_version) < 0 ||
        virConnectGetVersion(connection, &asked->facts.qemu_version) < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot read the versions of libvirt and QEMU");
    return read_host(connection, asked, err) < 0 || read_domain(connection, asked, err) < 0
               ? -1
               : count_vcpus(connection, asked, err);
}

int hypervisor_facts(struct hypervisor *hypervisor, bool kvm, const char *node_id, int64_t timeout_ms,
                     struct hypervisor_facts *facts, struct error *err)
{
    CLEANUP_CALL struct facts_state *state = call_new(sizeof *state, clear_facts);
    state->kvm = kvm;
    state->node_id = text_copy(node_id);
    if (call_hypervisor(hypervisor, "ask libvirt what it can do", read_facts, state, timeout_ms, err) < 0)
        return -1;
    *facts = state->facts;
    state->facts = (struct hypervisor_facts){0};
    return 0;
}

int hypervisor_vcpu_given(struct hypervisor *hypervisor, const char *node_id, int64_t timeout_ms,
                          int64_t *vcpu, struct error *err)
{
    CLEANUP_CALL struct facts_state *state = call_new(sizeof *state, clear_facts);
    state->node_id = text_copy(node_id);
    if (call_hypervisor(hypervisor, "count the vCPUs of running guests", count_vcpus, state, timeout_ms,
                        err) < 0)
        return -1;
    *vcpu = state->facts.vcpu_given;
    return 0;
}

struct native_state {
    char *xml;
    char *arguments; /* out */
};

static void clear_native(void *state)
{
    struct native_state *native = state;
    free(native->xml);
    free(native->arguments);
}

static int to_native(virConnectPtr connection, void *state, struct error *err)
{
    struct native_state *native = state;
    native->arguments = virConnectDomainXMLToNative(connection, "qemu-argv", native->xml, 0);
    if (!native->arguments)
        return libvirt_error(ERROR_GUEST_FAILED, err,
                             "libvirt cannot turn a lease's domain into QEMU arguments");
    return 0;
}

char *hypervisor_native_arguments(struct hypervisor *hypervisor, const char *xml, int64_t timeout_ms,
                                  struct error *err)
{
    CLEANUP_CALL struct native_state *state = call_new(sizeof *state, clear_native);
    state->xml = text_copy(xml);
    if (call_hypervisor(hypervisor, "turn a domain into QEMU arguments", to_native, state, timeout_ms, err) <
        0)
        return NULL;
    return TAKE(state->arguments);
}
