#include "guest/metadata.h"

#include "base/text.h"
#include "guest/xml.h"

static char *copy_attribute(xmlNode *node, const char *name)
{
    xmlChar *value = xmlGetNoNsProp(node, (const xmlChar *)name);
    char *copy = text_copy(value ? (const char *)value : "");
    xmlFree(value);
    return copy;
}

bool metadata_read(virDomainPtr domain, char **node_id, char **lease_id)
{
    struct error ignored = ERROR_INIT;
    CLEANUP_FREE char *text =
        virDomainGetMetadata(domain, VIR_DOMAIN_METADATA_ELEMENT, GUEST_METADATA_NAMESPACE, 0);
    if (!text)
        return false;
    CLEANUP_XML xmlDoc *doc = guest_xml_parse(text, "the guest's metadata", &ignored);
    if (!doc)
        return false;
    *node_id = copy_attribute(xmlDocGetRootElement(doc), "node");
    *lease_id = copy_attribute(xmlDocGetRootElement(doc), "lease");
    return true;
}
