/* Whose a domain is: told by our metadata alone, never by its name. */
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "guest/call.h"
#include "guest/domain_xml.h"
#include "guest/guest.h"
#include "guest/owned.h"
#include "guest/xml.h"

static char *attribute(xmlNode *node, const char *name)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    char *copy = text_copy(value ? (const char *)value : "");
    xmlFree(value);
    return copy;
}

bool owned_read(virDomainPtr domain, char **node_id, char **lease_id)
{
    struct error ignored = ERROR_INIT;
    char *text = virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, GUEST_METADATA_NAMESPACE, 0);
    CLEANUP_FREE char *metadata = text;
    if (!metadata)
        return false;
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(metadata, "the guest's metadata", &ignored);
    if (!doc)
        return false;
    *node_id = attribute(xmlDocGetRootElement(doc), "node");
    *lease_id = attribute(xmlDocGetRootElement(doc), "lease");
    return true;
}

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
    if (!owned_read(domain, &node_id, &lease_id) || strcmp(node_id, owned->node_id) != 0)
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
        return call_libvirt_error(ERROR_HYPERVISOR, err, "cannot list the running guests");
    owned->list = calloc((size_t)count + 1, sizeof *owned->list);
    for (int i = 0; i < count; i++) {
        if (owned->list)
            take_if_owned(owned, domains[i]);
        virDomainFree(domains[i]);
    }
    free(domains);
    return owned->list ? 0 : error_set(err, ERROR_INTERNAL, "cannot list the running guests: out of memory");
}

int guest_list_owned(struct hypervisor *hypervisor, const char *node_id, int64_t timeout_ms,
                     struct guest_owned **list, size_t *count, struct error *err)
{
    CLEANUP_CALL struct list_state *state = call_new(sizeof *state, clear_list);
    state->node_id = text_copy(node_id);
    if (hypervisor_call(hypervisor, "list the running guests", list_owned, state, timeout_ms, err) < 0)
        return -1;
    for (size_t i = 0; i < state->count; i++)
        state->list[i].guest.hypervisor = hypervisor;
    *list = TAKE(state->list);
    *count = state->count;
    state->count = 0;
    return 0;
}
