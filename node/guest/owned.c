#include "guest/owned.h"

#include <libvirt/virterror.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "guest/call.h"
#include "guest/libvirt_error.h"
#include "guest/metadata.h"

struct list_state {
    char *node_id;
    struct guest_owned *list; /* out */
    size_t count;             /* out */
};

void guest_list_free(struct guest_owned *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(list[i].name);
        free(list[i].node_id);
        free(list[i].lease_id);
    }
    free(list);
}

static void clear_list(void *state)
{
    struct list_state *owned = state;
    free(owned->node_id);
    guest_list_free(owned->list, owned->count);
}

static void take_if_owned(struct list_state *owned, virDomainPtr domain)
{
    CLEANUP_FREE char *node_id = NULL;
    CLEANUP_FREE char *lease_id = NULL;
    virDomainInfo info;
    if (!metadata_read(domain, &node_id, &lease_id) || strcmp(node_id, owned->node_id) != 0)
        return;
    struct guest_owned *entry = &owned->list[owned->count];
    if (virDomainGetUUIDString(domain, entry->guest.uuid) < 0)
        return;
    entry->guest.run = (int)virDomainGetID(domain);
    entry->name = text_copy(virDomainGetName(domain));
    entry->node_id = TAKE(node_id);
    entry->lease_id = TAKE(lease_id);
    if (virDomainGetInfo(domain, &info) == 0) {
        entry->vcpu = info.nrVirtCpu;
        entry->mem_mib = (int64_t)(info.maxMem / 1024);
    }
    owned->count++;
}

static int list_owned(virConnectPtr connection, void *state, struct error *err)
{
    struct list_state *owned = state;
    virDomainPtr *domains;
    int count = virConnectListAllDomains(connection, &domains, VIR_CONNECT_LIST_DOMAINS_ACTIVE);
    if (count < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot list the running guests");
    owned->list = memory_array((size_t)count, sizeof *owned->list);
    for (int i = 0; i < count; i++) {
        take_if_owned(owned, domains[i]);
        virDomainFree(domains[i]);
    }
    free(domains);
    return 0;
}

int guest_list_owned(struct hypervisor *hypervisor, const char *node_id, int64_t timeout_ms,
                     struct guest_owned **list, size_t *count, struct error *err)
{
    CLEANUP_CALL struct list_state *state = call_new(sizeof *state, clear_list);
    state->node_id = text_copy(node_id);
    if (call_hypervisor(hypervisor, "list the running guests", list_owned, state, timeout_ms, err) < 0)
        return -1;
    for (size_t i = 0; i < state->count; i++)
        state->list[i].guest.hypervisor = hypervisor;
    *list = TAKE(state->list);
    *count = state->count;
    state->count = 0;
    return 0;
}

static void clear_claim(void *state)
{
    free(*(char **)state);
}

static int claim_domain(virDomainPtr domain, void *state, struct error *err)
{
    const char *metadata = *(char **)state;
    int now, reason;
    /* the name first: a guest that runs for somebody always says for whom */
    if (virDomainSetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, metadata, "berthos",
                             GUEST_METADATA_NAMESPACE, VIR_DOMAIN_AFFECT_LIVE) < 0)
        return libvirt_error(ERROR_GUEST_FAILED, err, "cannot name the prepared guest's lease");
    if (virDomainGetState(domain, &now, &reason, 0) < 0)
        return libvirt_error(ERROR_HYPERVISOR, err, "cannot ask for the guest's state");
    if (now == VIR_DOMAIN_PAUSED && virDomainResume(domain) < 0)
        return libvirt_error(ERROR_GUEST_FAILED, err, "cannot resume the prepared guest");
    return 0;
}

int guest_claim(const struct guest *guest, const char *node_id, const char *lease_id, int64_t timeout_ms,
                struct error *err)
{
    CLEANUP_CALL char **metadata = call_new(sizeof *metadata, clear_claim);
    /* without a namespace of its own, which libvirt adds (FACTS); both ids are hexadecimal */
    *metadata = text_format("<guest node='%s' lease='%s'/>", node_id, lease_id);
    return call_guest(guest, "give the prepared guest to its lease", claim_domain, metadata, timeout_ms, err);
}
